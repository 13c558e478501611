// Random programs over tensors, views and writes, against tensors that compute at once.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <random>

#include "tenon/autograd.h"
#include "tenon/tensor.h"
#include "tensor/random_program.h"
#include "tensor/realize/programs.h"

namespace tenon::random_programs::random_programs_test {
namespace {

/// Executes a program twice at once and compares. `T` is the lazy side.
class Both {
 public:
  Both(const Program& program, bool lazy, bool realize_all) : lazy_(lazy), realize_all_(realize_all) {
    for (size_t i = 0; i < program.dims.size(); ++i) {
      eager_.push_back(Eager::of(program.values[i], program.dims[i]));
      if (lazy_) {
        std::vector<Axis> axes(program.dims[i].begin(), program.dims[i].end());
        if (i == 0) {
          axes[0] = Axis("rows");
        }
        tensors_.push_back(tensor(Array::from<double>(program.dims[i], program.values[i]), axes));
      }
    }
    if (lazy_) {
      tensors_[0].requires_grad_();
      leaf_ = tensors_[0];
    }
    for (const Instruction& one : program.instructions) {
      run(one);
      if (lazy_ && realize_all_) {
        realize(tensors_);
      }
    }
  }

  /// What gradients are taken of: all tensors' elements, weighted by where they are.
  double loss() const {
    double loss = 0;
    for (size_t i = 0; i < eager_.size(); ++i) {
      for (const double x : eager_[i].values()) {
        loss += std::sin(x) * static_cast<double>(i % 3 + 1);
      }
    }
    return loss;
  }

  Tensor lazy_loss() const {
    Tensor loss = Tensor::number(0, Dtype::f64);
    for (size_t i = 0; i < tensors_.size(); ++i) {
      loss = loss + tensors_[i].sin().sum() * static_cast<double>(i % 3 + 1);
    }
    return loss;
  }

  void compare_all() const {
    for (size_t i = 0; i < tensors_.size(); ++i) {
      compare(i);
    }
  }

  const Tensor& leaf() const { return leaf_; }
  std::vector<Array> arrays() const {
    std::vector<Array> result;
    for (const Tensor& tensor : tensors_) {
      result.push_back(tensor.to_array());
    }
    return result;
  }

 private:
  void compare(size_t i) const {
    const Array got = tensors_[i].to_array();
    ASSERT_EQ(got.dims(), eager_[i].dims) << "tensor " << i;
    const std::vector<double> want = eager_[i].values();
    for (size_t k = 0; k < want.size(); ++k) {
      ASSERT_NEAR(got.at(static_cast<int64_t>(k)), want[k], 1e-9 * (1 + std::abs(want[k]))) << "tensor " << i;
    }
  }

  void push(Eager eager, const std::function<Tensor()>& make) {
    eager_.push_back(std::move(eager));
    if (lazy_) {
      tensors_.push_back(make());
    }
  }

  Eager computed(const Eager& a, const std::function<double(size_t)>& f) {
    std::vector<double> values;
    for (size_t i = 0; i < a.positions.size(); ++i) {
      values.push_back(f(i));
    }
    return Eager::of(std::move(values), a.dims);
  }

  /// A tensor with the sizes of `a`, that one itself where there is no other; where the search begins depends on `b`.
  size_t partner(size_t a, uint64_t b) const {
    for (size_t k = 0; k < eager_.size(); ++k) {
      const size_t i = (b + k) % eager_.size();
      if (eager_[i].dims == eager_[a].dims) {
        return i;
      }
    }
    return a;
  }

  void run(const Instruction& one);
  void run_view(const Instruction& one, size_t a);
  void run_write(const Instruction& one, size_t a, size_t b);

  bool lazy_;
  bool realize_all_;
  std::vector<Eager> eager_;
  std::vector<Tensor> tensors_;
  Tensor leaf_;
};

void Both::run(const Instruction& one) {
  const size_t a = one.a % eager_.size();
  const size_t b = partner(a, one.b);
  const std::vector<double> x = eager_[a].values();
  const std::vector<double> y = eager_[b].values();
  switch (one.step) {
    case Step::unary:
      push(computed(eager_[a], [&](size_t i) { return std::tanh(x[i]); }), [&] { return tanh(tensors_[a]); });
      return;
    case Step::binary:
      push(computed(eager_[a], [&](size_t i) { return std::sin(x[i]) * y[i] + y[i]; }),
           [&] { return sin(tensors_[a]) * tensors_[b] + tensors_[b]; });
      return;
    case Step::scale:
      push(computed(eager_[a], [&](size_t i) { return 0.5 - x[i]; }), [&] { return 0.5 - tensors_[a]; });
      return;
    case Step::clone:
      push(computed(eager_[a], [&](size_t i) { return x[i]; }), [&] { return tensors_[a].clone(); });
      return;
    case Step::sum: {
      if (eager_[a].dims.empty()) {
        return;
      }
      const auto axis = static_cast<size_t>(one.number % eager_[a].dims.size());
      Dims to = eager_[a].dims;
      const int64_t size = to[axis];
      to.erase(to.begin() + static_cast<int64_t>(axis));
      int64_t inner = 1;
      for (size_t i = axis; i < to.size(); ++i) {
        inner *= to[i];
      }
      std::vector<double> sums(static_cast<size_t>(count_of(to)), 0);
      for (size_t i = 0; i < sums.size(); ++i) {
        const int64_t outer = static_cast<int64_t>(i) / inner;
        for (int64_t k = 0; k < size; ++k) {
          sums[i] += x[static_cast<size_t>((outer * size + k) * inner + static_cast<int64_t>(i) % inner)];
        }
      }
      push(Eager::of(std::move(sums), to), [&] { return tensors_[a].sum({static_cast<int64_t>(axis)}); });
      return;
    }
    case Step::look:
      if (lazy_) {
        compare(a);
      }
      return;
    case Step::transpose:
    case Step::slice:
    case Step::flip:
    case Step::flatten:
    case Step::fold: run_view(one, a); return;
    default: run_write(one, a, b);
  }
}

void Both::run_view(const Instruction& one, size_t a) {
  const Eager from = eager_[a];
  if (from.dims.empty()) {
    return;
  }
  const auto axis = static_cast<size_t>(one.number % from.dims.size());
  const int64_t size = from.dims[axis];
  const auto row_major = [&](const Dims& index) {
    int64_t at = 0;
    for (size_t k = 0; k < index.size(); ++k) {
      at = at * from.dims[k] + index[k];
    }
    return at;
  };
  if (one.step == Step::transpose) {
    Dims to(from.dims.rbegin(), from.dims.rend());
    push(from.view(to, [&](Dims index) { return row_major({index.rbegin(), index.rend()}); }),
         [&] { return tensors_[a].transpose(); });
  } else if (one.step == Step::slice) {
    const int64_t begin = size == 0 ? 0 : static_cast<int64_t>((one.number >> 8) % static_cast<uint64_t>(size));
    const int64_t step = static_cast<int64_t>((one.number >> 16) % 2) + 1;
    Dims to = from.dims;
    to[axis] = (size - begin + step - 1) / step;
    push(from.view(to,
                   [&](Dims index) {
                     index[axis] = begin + index[axis] * step;
                     return row_major(index);
                   }),
         [&] { return tensors_[a].slice_axis(static_cast<int64_t>(axis), begin, {}, step); });
  } else if (one.step == Step::flip) {
    push(from.view(from.dims,
                   [&](Dims index) {
                     index[axis] = size - 1 - index[axis];
                     return row_major(index);
                   }),
         [&] { return tensors_[a].flip({static_cast<int64_t>(axis)}); });
  } else if (one.step == Step::flatten) {
    Eager flat = from;
    flat.dims = {count_of(from.dims)};
    push(flat, [&] { return tensors_[a].flatten(); });
  } else if (size > 0 && size % 2 == 0) {  // an axis as two
    Eager folded = from;
    folded.dims[axis] = size / 2;
    folded.dims.insert(folded.dims.begin() + static_cast<int64_t>(axis) + 1, 2);
    push(folded, [&] { return tensors_[a].reshape({folded.dims.begin(), folded.dims.end()}); });
  }
}

void Both::run_write(const Instruction& one, size_t a, size_t b) {
  const Eager& to = eager_[a];
  const std::vector<double> x = to.values();
  const std::vector<double> y = eager_[b].values();
  std::vector<double> next = x;
  const auto each = [&](const std::function<double(size_t)>& f) {
    for (size_t i = 0; i < next.size(); ++i) {
      next[i] = f(i);
    }
  };
  if (one.step == Step::fill) {
    each([](size_t) { return 0.25; });
    lazy_ ? void(tensors_[a].fill_(0.25)) : void();
  } else if (one.step == Step::copy) {
    each([&](size_t i) { return y[i]; });
    lazy_ ? void(tensors_[a].copy_(tensors_[b])) : void();
  } else if (one.step == Step::add) {
    each([&](size_t i) { return x[i] + y[i]; });
    lazy_ ? void(tensors_[a] += tensors_[b]) : void();
  } else if (one.step == Step::mul) {
    each([&](size_t i) { return x[i] * y[i]; });
    lazy_ ? void(tensors_[a] *= tensors_[b]) : void();
  } else if (!to.dims.empty() && to.dims[0] > 0) {
    const auto row = static_cast<int64_t>(one.number % static_cast<uint64_t>(to.dims[0]));
    const int64_t width = count_of(to.dims) / to.dims[0];
    for (int64_t i = 0; i < width; ++i) {
      next[static_cast<size_t>(row * width + i)] = -0.5;
    }
    if (lazy_) {
      Dims part = to.dims;
      part[0] = 1;
      tensors_[a].put_(tensor(Array::from<int64_t>({1}, {row})),
                       Tensor::full(Shape(Dtype::f64, {part.begin(), part.end()}), -0.5));
    }
  }
  to.write(next);
}

void expect_equal(uint64_t seed, int steps) {
  SCOPED_TRACE(fmt::format("seed {}", seed));
  const Program program = random_program(seed, steps);
  const Both both(program, true, false);
  const Tensor loss = both.lazy_loss();
  if (loss.requires_grad()) {
    loss.backward({}, true);
  }
  both.compare_all();
  ASSERT_NEAR(loss.item(), both.loss(), 1e-9 * (1 + std::abs(both.loss())));
  if (both.leaf().grad().defined()) {
    const Array got = both.leaf().grad().to_array();
    for (int64_t i = 0; i < std::min<int64_t>(got.size(), 3); ++i) {
      const auto at = [&](double by) {
        Program moved = program;
        moved.values[0][static_cast<size_t>(i)] += by;
        return Both(moved, false, false).loss();
      };
      const double slope = (at(1e-6) - at(-1e-6)) / 2e-6;
      const double closer = (at(2e-7) - at(-2e-7)) / 4e-7;
      // Where the function is steep, products of products, differences of two sizes disagree, and say less, or nothing.
      if (std::abs(slope - closer) > 1e-2 * (1 + std::abs(slope))) {
        continue;
      }
      const double tolerance = 10 * std::abs(slope - closer) + 1e-5 * (1 + std::abs(slope));
      ASSERT_NEAR(got.at(i), slope, tolerance) << "gradient " << i;
    }
  }
  if (seed % 4 == 0) {
    Both(program, true, true).compare_all();
  }
}

/// How many programs: TENON_PROGRAMS, or a number that is quick.
int64_t programs(int64_t quick) {
  const char* text = std::getenv("TENON_PROGRAMS");
  return text == nullptr ? quick : std::atoll(text);
}

struct RandomPrograms : testing::Test {
  void TearDown() override { tensors::set_compile_options({}); }
};

TEST_F(RandomPrograms, EqualEagerTensors) {
  tensors::set_compile_options({.native = false});
  for (int64_t seed = 0; seed < programs(60) && !HasFatalFailure(); ++seed) {
    expect_equal(static_cast<uint64_t>(seed), 30);
  }
}

TEST_F(RandomPrograms, SlowEqualEagerTensorsInMachineCode) {
  for (int64_t seed = 1'000'000; seed < 1'000'000 + programs(40) / 10 + 10 && !HasFatalFailure(); ++seed) {
    expect_equal(static_cast<uint64_t>(seed), 30);
  }
}

}  // namespace
}  // namespace tenon::random_programs::random_programs_test
