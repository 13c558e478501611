// Floats of 16 bits, as IEEE 754 and bfloat16 define them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace tenon::emulated_gpu {

struct F16 {
  uint16_t bits;
  static constexpr int kMantissa = 10, kLeast = -14, kMost = 15;
};

struct Bf16 {
  uint16_t bits;
  static constexpr int kMantissa = 7, kLeast = -126, kMost = 127;
};

template <class T>
double value_of(T half) {
  const int mantissa = half.bits & ((1 << T::kMantissa) - 1);
  const int exponent = (half.bits & 0x7fff) >> T::kMantissa;
  double value = exponent == 0 ? std::ldexp(mantissa, T::kLeast - T::kMantissa)
                               : std::ldexp(mantissa + (1 << T::kMantissa), exponent - T::kMost - T::kMantissa);
  if (exponent == 2 * T::kMost + 1) value = mantissa == 0 ? HUGE_VAL : std::numeric_limits<double>::quiet_NaN();
  return (half.bits & 0x8000) != 0 ? -value : value;
}

/// The nearest, the even one of two.
template <class T>
T nearest(double value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  constexpr auto kInfinite = static_cast<uint16_t>((2 * T::kMost + 1) << T::kMantissa);
  if (std::isnan(value)) return {0x7fff};
  if (std::isinf(value)) return {static_cast<uint16_t>(sign | kInfinite)};
  const double size = std::fabs(value);
  const int exponent = size == 0 ? T::kLeast : std::max(std::ilogb(size), T::kLeast);
  const auto steps = static_cast<uint32_t>(std::nearbyint(std::ldexp(size, T::kMantissa - exponent)));
  // A mantissa that became 2 carries into the exponent.
  const uint32_t bits = steps + (static_cast<uint32_t>(exponent - T::kLeast) << T::kMantissa);
  return {static_cast<uint16_t>(sign | (bits >= kInfinite ? kInfinite : bits))};
}

}  // namespace tenon::emulated_gpu
