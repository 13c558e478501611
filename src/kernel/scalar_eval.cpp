#include "kernel/scalar_eval.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <vector>

#include "base/convert.h"

namespace tenon {
namespace {

/// Elements per instruction: long enough to hide the dispatch, short enough for all registers to stay in cache.
constexpr int64_t kBlock = 256;

/// Bits of the result of wrapping arithmetic; narrow types promote to int, which would overflow.
template <class T, class Op>
T wrap(T a, T b, Op op) {
  return static_cast<T>(op(static_cast<uint64_t>(a), static_cast<uint64_t>(b)));
}

template <class T>
T integer_power(T base, T exponent) {
  if (exponent < T{0}) {
    const bool odd = exponent % 2 != 0;
    return base == T{1} ? T{1} : base == static_cast<T>(-1) ? (odd ? base : T{1}) : T{0};
  }
  T result{1};
  for (auto n = static_cast<uint64_t>(exponent); n != 0; n >>= 1) {
    if ((n & 1) != 0) {
      result = wrap(result, base, [](uint64_t x, uint64_t y) { return x * y; });
    }
    base = wrap(base, base, [](uint64_t x, uint64_t y) { return x * y; });
  }
  return result;
}

/// The smaller (or larger) of two, NaN if either is, and -0 below +0.
template <class T, class Before>
T extremum(T a, T b, bool minimum, Before before) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) {
      return std::isnan(a) ? a : b;
    }
    if (a == b) {
      return std::signbit(a) == minimum ? a : b;
    }
  }
  return before(a, b) ? a : b;
}

template <class T>
T unary(Prim prim, T x) {
  if constexpr (std::is_floating_point_v<T>) {
    const auto wide = static_cast<double>(x);
    const auto narrow = [](double y) { return static_cast<T>(y); };
    switch (prim) {
      case Prim::neg: return -x;
      case Prim::abs: return std::fabs(x);
      case Prim::sqrt: return std::sqrt(x);
      case Prim::exp: return narrow(std::exp(wide));
      case Prim::expm1: return narrow(std::expm1(wide));
      case Prim::log: return narrow(std::log(wide));
      case Prim::log1p: return narrow(std::log1p(wide));
      case Prim::sin: return narrow(std::sin(wide));
      case Prim::cos: return narrow(std::cos(wide));
      case Prim::tanh: return narrow(std::tanh(wide));
      case Prim::erf: return narrow(std::erf(wide));
      case Prim::floor: return std::floor(x);
      case Prim::round: return std::nearbyint(x);
      default: break;
    }
  } else {
    switch (prim) {
      case Prim::neg: return wrap(T{0}, x, [](uint64_t a, uint64_t b) { return a - b; });
      case Prim::abs: return x < T{0} ? wrap(T{0}, x, [](uint64_t a, uint64_t b) { return a - b; }) : x;
      default: break;
    }
  }
  TENON_CHECK(false, "{} of {}", name(prim), name(dtype_of<T>()));
}

template <class T>
T float_binary(Prim prim, T a, T b) {
  switch (prim) {
    case Prim::add: return a + b;
    case Prim::sub: return a - b;
    case Prim::mul: return a * b;
    case Prim::div: return a / b;
    case Prim::rem: return std::fmod(a, b);
    case Prim::atan2: return static_cast<T>(std::atan2(static_cast<double>(a), static_cast<double>(b)));
    case Prim::pow: return static_cast<T>(std::pow(static_cast<double>(a), static_cast<double>(b)));
    default: break;
  }
  TENON_CHECK(false, "{} of {}", name(prim), name(dtype_of<T>()));
}

template <class T>
T integer_binary(Prim prim, T a, T b) {
  constexpr auto bits = static_cast<uint64_t>(sizeof(T) * 8);
  const auto amount = static_cast<uint64_t>(b);  // a negative amount is huge: everything is shifted out
  switch (prim) {
    case Prim::add: return wrap(a, b, [](uint64_t x, uint64_t y) { return x + y; });
    case Prim::sub: return wrap(a, b, [](uint64_t x, uint64_t y) { return x - y; });
    case Prim::mul: return wrap(a, b, [](uint64_t x, uint64_t y) { return x * y; });
    case Prim::div:
      if (b == T{0}) {
        return T{0};
      }
      return std::is_signed_v<T> && b == static_cast<T>(-1) ? unary(Prim::neg, a) : static_cast<T>(a / b);
    case Prim::rem: return b == T{0} || (std::is_signed_v<T> && b == static_cast<T>(-1)) ? T{0} : static_cast<T>(a % b);
    case Prim::pow: return integer_power(a, b);
    case Prim::bit_and: return static_cast<T>(a & b);
    case Prim::bit_or: return static_cast<T>(a | b);
    case Prim::bit_xor: return static_cast<T>(a ^ b);
    case Prim::shl: return amount >= bits ? T{0} : static_cast<T>(static_cast<uint64_t>(a) << amount);
    case Prim::shr:
      return amount < bits ? static_cast<T>(a >> amount) : static_cast<T>(std::is_signed_v<T> && a < T{0} ? -1 : 0);
    default: break;
  }
  TENON_CHECK(false, "{} of {}", name(prim), name(dtype_of<T>()));
}

template <class T>
T binary(Prim prim, T a, T b) {
  if (prim == Prim::min) {
    return extremum(a, b, true, [](T x, T y) { return x < y; });
  }
  if (prim == Prim::max) {
    return extremum(a, b, false, [](T x, T y) { return x > y; });
  }
  if constexpr (std::is_same_v<T, bool>) {
    switch (prim) {
      case Prim::bit_and: return a && b;
      case Prim::bit_or: return a || b;
      case Prim::bit_xor: return a != b;
      default: TENON_CHECK(false, "{} of bool", name(prim));
    }
  } else if constexpr (std::is_floating_point_v<T>) {
    return float_binary(prim, a, b);
  } else {
    return integer_binary(prim, a, b);
  }
}

template <class T>
bool compare(Prim prim, T a, T b) {
  return prim == Prim::eq ? a == b : prim == Prim::lt ? a < b : a <= b;
}

/// One instruction over one block; T is the dtype of the operands.
class BlockRunner {
 public:
  BlockRunner(const ScalarProgram& program, std::span<const std::byte* const> args)
      : program_(program), args_(args), storage_(program.code.size() * kBlock * sizeof(double)) {}

  void run(int64_t begin, int64_t count) {
    for (size_t i = 0; i < program_.code.size(); ++i) {
      const ScalarInstruction& in = program_.code[i];
      const Dtype dispatch = in.prim == Prim::argument || in.prim == Prim::constant ? in.dtype : in.operand_dtype;
      visit_dtype(dispatch, [&]<class T>() {
        if constexpr (is_half_type<T>) {
          TENON_CHECK(false, "half types are computed in f32");
        } else {
          step<T>(in, static_cast<int>(i), begin, count);
        }
      });
    }
  }

  template <class T>
  T* slot(int index) {
    return reinterpret_cast<T*>(storage_.data() + static_cast<size_t>(index) * kBlock * sizeof(double));
  }

 private:
  template <class T>
  void step(const ScalarInstruction& in, int target, int64_t begin, int64_t count) {
    switch (in.prim) {
      case Prim::argument:
        std::memcpy(slot<T>(target), args_[static_cast<size_t>(in.a)] + static_cast<size_t>(begin) * sizeof(T),
                    static_cast<size_t>(count) * sizeof(T));
        return;
      case Prim::constant: std::fill_n(slot<T>(target), count, convert<T>(in.literal)); return;
      case Prim::cast:
        visit_dtype(in.dtype, [&]<class To>() {
          std::transform(slot<T>(in.a), slot<T>(in.a) + count, slot<To>(target), [](T x) { return convert<To>(x); });
        });
        return;
      case Prim::select:
        for (int64_t i = 0; i < count; ++i) {
          slot<T>(target)[i] = slot<bool>(in.a)[i] ? slot<T>(in.b)[i] : slot<T>(in.c)[i];
        }
        return;
      case Prim::eq:
      case Prim::lt:
      case Prim::le:
        for (int64_t i = 0; i < count; ++i) {
          slot<bool>(target)[i] = compare(in.prim, slot<T>(in.a)[i], slot<T>(in.b)[i]);
        }
        return;
      default: break;
    }
    const T* a = slot<T>(in.a);
    T* out = slot<T>(target);
    if (in.b >= 0) {
      const T* b = slot<T>(in.b);
      for (int64_t i = 0; i < count; ++i) {
        out[i] = binary(in.prim, a[i], b[i]);
      }
    } else {
      for (int64_t i = 0; i < count; ++i) {
        out[i] = unary(in.prim, a[i]);
      }
    }
  }

  const ScalarProgram& program_;
  std::span<const std::byte* const> args_;
  std::vector<std::byte> storage_;
};

}  // namespace

void evaluate(const ScalarProgram& program, std::span<const std::byte* const> args, std::span<std::byte* const> results,
              int64_t count) {
  BlockRunner runner(program, args);
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t length = std::min(kBlock, count - begin);
    runner.run(begin, length);
    for (size_t i = 0; i < results.size(); ++i) {
      const int source = program.results[i];
      const size_t width = byte_size(program.code[static_cast<size_t>(source)].dtype);
      std::memcpy(results[i] + static_cast<size_t>(begin) * width, runner.slot<std::byte>(source),
                  static_cast<size_t>(length) * width);
    }
  }
}

}  // namespace tenon
