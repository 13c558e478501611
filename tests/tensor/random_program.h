// Random programs over tensors, and the plain eager tensor that they are held against.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <utility>
#include <vector>

namespace tenon::random_programs {

using Dims = std::vector<int64_t>;

inline int64_t count_of(const Dims& dims) {
  int64_t count = 1;
  for (const int64_t size : dims) {
    count *= size;
  }
  return count;
}

/// A plain eager tensor: a storage, and for each element, in row-major order, where in the storage it lies.
struct Eager {
  std::shared_ptr<std::vector<double>> storage;
  std::vector<size_t> positions;
  Dims dims;

  static Eager of(std::vector<double> values, Dims dims) {
    Eager result{std::make_shared<std::vector<double>>(std::move(values)), {}, std::move(dims)};
    for (size_t i = 0; i < result.storage->size(); ++i) {
      result.positions.push_back(i);
    }
    return result;
  }

  std::vector<double> values() const {
    std::vector<double> result;
    for (const size_t at : positions) {
      result.push_back((*storage)[at]);
    }
    return result;
  }

  void write(const std::vector<double>& values) const {
    for (size_t i = 0; i < positions.size(); ++i) {
      (*storage)[positions[i]] = values[i];
    }
  }

  /// The element of this tensor for each element of the result.
  Eager view(Dims to, const std::function<int64_t(const Dims&)>& from) const {
    Eager result{storage, {}, std::move(to)};
    Dims index(result.dims.size(), 0);
    for (int64_t i = 0; i < count_of(result.dims); ++i) {
      int64_t rest = i;
      for (size_t k = result.dims.size(); k-- > 0;) {
        index[k] = rest % result.dims[k];
        rest /= result.dims[k];
      }
      result.positions.push_back(positions[static_cast<size_t>(from(index))]);
    }
    return result;
  }
};

enum class Step {
  unary,
  binary,
  scale,
  transpose,
  slice,
  flip,
  flatten,
  fold,
  clone,
  sum,
  fill,
  copy,
  add,
  mul,
  put,
  look
};
constexpr int kSteps = static_cast<int>(Step::look) + 1;

/// One step over earlier tensors; numbers are drawn once, so that every execution does the same.
struct Instruction {
  Step step = Step::unary;
  size_t a = 0;
  size_t b = 0;
  uint64_t number = 0;
};

struct Program {
  std::vector<Dims> dims;                   // of the tensors that it begins with
  std::vector<std::vector<double>> values;  // theirs
  std::vector<Instruction> instructions;
};

inline Program random_program(uint64_t seed, int steps) {
  std::mt19937_64 rng(seed);
  Program program;
  const auto below = [&](uint64_t n) { return static_cast<int64_t>(rng() % n); };
  for (int i = 0; i < 3; ++i) {
    Dims dims;
    for (int64_t k = below(3) + 1; k > 0; --k) {
      dims.push_back(rng() % 20 == 0 ? below(2) : below(4) + 1);
    }
    if (i == 1 && rng() % 2 == 0) {
      dims = program.dims[0];
    }
    std::vector<double> values;
    for (int64_t k = 0; k < count_of(dims); ++k) {
      values.push_back(std::uniform_real_distribution(-1.0, 1.0)(rng));
    }
    program.dims.push_back(dims);
    program.values.push_back(values);
  }
  for (int i = 0; i < steps; ++i) {
    program.instructions.push_back({static_cast<Step>(rng() % kSteps), rng(), rng(), rng()});
  }
  return program;
}

}  // namespace tenon::random_programs
