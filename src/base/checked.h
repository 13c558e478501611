// 64-bit integer arithmetic that reports overflow instead of wrapping.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

namespace tenon {

inline std::optional<int64_t> checked_add(int64_t a, int64_t b) {
  int64_t r = 0;
  return __builtin_add_overflow(a, b, &r) ? std::nullopt : std::optional(r);
}

inline std::optional<int64_t> checked_sub(int64_t a, int64_t b) {
  int64_t r = 0;
  return __builtin_sub_overflow(a, b, &r) ? std::nullopt : std::optional(r);
}

inline std::optional<int64_t> checked_mul(int64_t a, int64_t b) {
  int64_t r = 0;
  return __builtin_mul_overflow(a, b, &r) ? std::nullopt : std::optional(r);
}

/// Quotient rounded toward minus infinity; nothing for b == 0 and for the one quotient that overflows.
inline std::optional<int64_t> checked_floordiv(int64_t a, int64_t b) {
  if (b == 0 || (a == std::numeric_limits<int64_t>::min() && b == -1)) {
    return std::nullopt;
  }
  const int64_t q = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;
}

/// a - b * floordiv(a, b): has the sign of b; nothing for b == 0.
inline std::optional<int64_t> checked_floormod(int64_t a, int64_t b) {
  if (b == 0) {
    return std::nullopt;
  }
  if (b == -1) {
    return 0;
  }
  const int64_t r = a % b;
  return (r != 0 && (r < 0) != (b < 0)) ? r + b : r;
}

}  // namespace tenon
