// Conversion of one element between any two storage types, defined for every value:
//   float to integer  truncates, saturates at the ends of the range, NaN gives 0
//   integer to integer  keeps the low bits
//   anything to bool    is "not zero" (NaN is true)
//   to a float type     rounds to nearest even, overflow gives infinity
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "base/dtype_visit.h"

namespace tenon {

/// Round to float so that a second rounding to a half type gives the same result as rounding once ("round to odd").
inline float round_to_odd(double value) {
  const auto nearest = static_cast<float>(value);
  if (static_cast<double>(nearest) == value || std::isnan(value) || std::isinf(nearest)) {
    return nearest;
  }
  auto word = std::bit_cast<uint32_t>(nearest);
  if (std::fabs(static_cast<double>(nearest)) > std::fabs(value)) {
    --word;  // toward zero: sign and magnitude makes this the neighbour below in magnitude
  }
  return std::bit_cast<float>(word | 1u);
}

template <class To, class From>
To convert(From from) {
  if constexpr (std::is_same_v<To, From>) {
    return from;
  } else if constexpr (is_half_type<From>) {
    return convert<To>(static_cast<float>(from));
  } else if constexpr (is_half_type<To>) {
    if constexpr (std::is_same_v<From, float>) {
      return To(from);
    } else {
      return To(round_to_odd(static_cast<double>(from)));
    }
  } else if constexpr (std::is_same_v<To, bool>) {
    return from != From{};
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if (std::isnan(from)) {
      return 0;
    }
    // 2^bits is exact in every float type; the largest To may not be.
    constexpr int bits = std::numeric_limits<To>::digits;
    const From above = std::ldexp(From{1}, bits);
    if (from >= above) {
      return std::numeric_limits<To>::max();
    }
    const From below = std::is_signed_v<To> ? -above : From{0};
    return from <= below ? std::numeric_limits<To>::min() : static_cast<To>(from);
  } else {
    return static_cast<To>(from);
  }
}

}  // namespace tenon
