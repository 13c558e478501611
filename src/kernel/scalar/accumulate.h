// Combining elements one after the other: floats in f64, to be rounded once; integers wrap.
#pragma once

#include <cmath>
#include <limits>
#include <type_traits>

#include "kernel/scalar/reduce_op.h"
#include "tenon/dtype.h"

namespace tenon {

template <class T>
using Running = std::conditional_t<is_float_type<T>, double, T>;

template <class A>
A running_sum(A a, A b) {
  if constexpr (std::is_floating_point_v<A>) {
    return a + b;
  } else {
    return static_cast<A>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  }
}

template <class A>
A running_product(A a, A b) {
  if constexpr (std::is_floating_point_v<A>) {
    return a * b;
  } else {
    return static_cast<A>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  }
}

/// The larger, or smaller, one; NaN when either is.
template <class A>
A running_extreme(A a, A b, bool maximum) {
  if constexpr (std::is_floating_point_v<A>) {
    if (std::isnan(a) || std::isnan(b)) {
      return std::numeric_limits<A>::quiet_NaN();
    }
  }
  return (maximum ? b > a : b < a) ? b : a;
}

/// What combines with anything to that: the extreme of no elements of T.
template <class T>
Running<T> empty_extreme(bool maximum) {
  using A = Running<T>;
  if constexpr (std::is_floating_point_v<A>) {
    const A infinity = std::numeric_limits<A>::infinity();
    return maximum ? -infinity : infinity;
  } else {
    return maximum ? std::numeric_limits<A>::lowest() : std::numeric_limits<A>::max();
  }
}

/// What a running sum, product or extreme of T begins with.
template <class T>
Running<T> start_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum: return 0;
    case ReduceOp::product: return 1;
    default: return empty_extreme<T>(op == ReduceOp::max);
  }
}

}  // namespace tenon
