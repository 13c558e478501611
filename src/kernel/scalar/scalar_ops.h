// The value of each primitive on one element, by C++ type. Each visit hands the element's function to the caller, who
// loops: the choice of the primitive stays outside of the loop.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <type_traits>

#include "base/dtype_visit.h"
#include "base/fail.h"
#include "kernel/scalar/scalar.h"

namespace tenon::scalar {

/// Integers wrap. Narrow types would promote to int, which overflows: all go through uint64_t.
template <class T>
T add(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return a + b;
  } else {
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  }
}

template <class T>
T subtract(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return a - b;
  } else {
    return static_cast<T>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
  }
}

template <class T>
T multiply(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return a * b;
  } else {
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  }
}

/// The smaller, or larger, of two: NaN if either is, and -0 below +0.
template <class T>
T extremum(T a, T b, bool minimum) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) {
      return std::isnan(a) ? a : b;
    }
    if (a == b) {
      return std::signbit(a) == minimum ? a : b;
    }
  }
  return (minimum ? a < b : a > b) ? a : b;
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
      result = multiply(result, base);
    }
    base = multiply(base, base);
  }
  return result;
}

/// x / 0 is 0, lowest / -1 wraps.
template <class T>
T integer_divide(T a, T b) {
  if (b == T{0}) {
    return T{0};
  }
  return std::is_signed_v<T> && b == static_cast<T>(-1) ? subtract(T{0}, a) : static_cast<T>(a / b);
}

template <class T>
T integer_remainder(T a, T b) {
  return b == T{0} || (std::is_signed_v<T> && b == static_cast<T>(-1)) ? T{0} : static_cast<T>(a % b);
}

/// A negative amount is huge as an unsigned number: everything is shifted out.
template <class T>
T shift_left(T a, T b) {
  const auto amount = static_cast<uint64_t>(b);
  return amount >= sizeof(T) * 8 ? T{0} : static_cast<T>(static_cast<uint64_t>(a) << amount);
}

template <class T>
T shift_right(T a, T b) {
  const auto amount = static_cast<uint64_t>(b);
  return amount < sizeof(T) * 8 ? static_cast<T>(a >> amount)
                                : static_cast<T>(std::is_signed_v<T> && a < T{0} ? -1 : 0);
}

[[noreturn]] inline void refuse(Prim prim, Dtype dtype) { TENON_CHECK(false, "{} of {}", name(prim), name(dtype)); }

/// x as arithmetic reads it in the mode that the processor is in: libm takes numbers apart bit by bit, and would find
/// denormals where a run wants none.
template <std::floating_point T>
T as_read(T x) {
  static const volatile T one = 1;
  return x * one;
}

/// f(function of one T). Functions of f32 are computed in f64 and rounded once.
template <class T, class F>
void visit_unary(Prim prim, const F& f) {
  if constexpr (std::is_floating_point_v<T>) {
    const auto wide = [&](double (*g)(double)) {
      f([g](T x) { return static_cast<T>(g(as_read(static_cast<double>(x)))); });
    };
    switch (prim) {
      case Prim::neg: return f([](T x) { return -x; });
      case Prim::abs: return f([](T x) { return std::fabs(x); });
      case Prim::sqrt: return f([](T x) { return std::sqrt(x); });
      case Prim::floor: return f([](T x) { return std::floor(x); });
      case Prim::round: return f([](T x) { return std::nearbyint(x); });
      case Prim::exp: return wide(std::exp);
      case Prim::exp_normal:
        return f([](T x) {
          return x < T{vanishing_exponent(dtype_of<T>())} ? T{0} : static_cast<T>(std::exp(static_cast<double>(x)));
        });
      case Prim::expm1: return wide(std::expm1);
      case Prim::log: return wide(std::log);
      case Prim::log1p: return wide(std::log1p);
      case Prim::sin: return wide(std::sin);
      case Prim::cos: return wide(std::cos);
      case Prim::tanh: return wide(std::tanh);
      case Prim::erf: return wide(std::erf);
      default: break;
    }
  } else {
    switch (prim) {
      case Prim::neg: return f([](T x) { return subtract(T{0}, x); });
      case Prim::abs: return f([](T x) { return x < T{0} ? subtract(T{0}, x) : x; });
      default: break;
    }
  }
  refuse(prim, dtype_of<T>());
}

/// f(function of two T to a T).
template <class T, class F>
void visit_binary(Prim prim, const F& f) {
  switch (prim) {
    case Prim::min: return f([](T a, T b) { return extremum(a, b, true); });
    case Prim::max: return f([](T a, T b) { return extremum(a, b, false); });
    default: break;
  }
  if constexpr (std::is_same_v<T, bool>) {
    switch (prim) {
      case Prim::bit_and: return f([](T a, T b) { return a && b; });
      case Prim::bit_or: return f([](T a, T b) { return a || b; });
      case Prim::bit_xor: return f([](T a, T b) { return a != b; });
      default: refuse(prim, Dtype::boolean);
    }
  } else {
    switch (prim) {
      case Prim::add: return f([](T a, T b) { return add(a, b); });
      case Prim::sub: return f([](T a, T b) { return subtract(a, b); });
      case Prim::mul: return f([](T a, T b) { return multiply(a, b); });
      default: break;
    }
    if constexpr (std::is_floating_point_v<T>) {
      const auto wide = [&](double (*g)(double, double)) {
        f([g](T a, T b) {
          return static_cast<T>(g(as_read(static_cast<double>(a)), as_read(static_cast<double>(b))));
        });
      };
      switch (prim) {
        case Prim::div: return f([](T a, T b) { return a / b; });
        case Prim::rem: return f([](T a, T b) { return std::fmod(as_read(a), as_read(b)); });
        case Prim::atan2: return wide(std::atan2);
        case Prim::pow: return wide(std::pow);
        default: refuse(prim, dtype_of<T>());
      }
    } else {
      switch (prim) {
        case Prim::div: return f([](T a, T b) { return integer_divide(a, b); });
        case Prim::rem: return f([](T a, T b) { return integer_remainder(a, b); });
        case Prim::pow: return f([](T a, T b) { return integer_power(a, b); });
        case Prim::bit_and: return f([](T a, T b) { return static_cast<T>(a & b); });
        case Prim::bit_or: return f([](T a, T b) { return static_cast<T>(a | b); });
        case Prim::bit_xor: return f([](T a, T b) { return static_cast<T>(a ^ b); });
        case Prim::shl: return f([](T a, T b) { return shift_left(a, b); });
        case Prim::shr: return f([](T a, T b) { return shift_right(a, b); });
        default: refuse(prim, dtype_of<T>());
      }
    }
  }
}

/// f(function of two T to a bool).
template <class T, class F>
void visit_comparison(Prim prim, const F& f) {
  switch (prim) {
    case Prim::eq: return f([](T a, T b) { return a == b; });
    case Prim::lt: return f([](T a, T b) { return a < b; });
    case Prim::le: return f([](T a, T b) { return a <= b; });
    default: refuse(prim, dtype_of<T>());
  }
}

}  // namespace tenon::scalar
