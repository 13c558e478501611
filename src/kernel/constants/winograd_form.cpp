#include "kernel/constants/winograd_form.h"

namespace tenon::layouts {
namespace {

constexpr double kA = WinogradPoints::a;
constexpr double kB = WinogradPoints::b;
constexpr double kA2 = WinogradPoints::a2;
constexpr double kB2 = WinogradPoints::b2;
// What values there are divided by.
constexpr double kAtA = 2 * kA2 * (kA2 - kB2);
constexpr double kAtB = 2 * kB2 * (kB2 - kA2);

}  // namespace

std::array<double, 6> transformed_weights(WinogradForm form, double a, double b, double c) {
  if (form == kSmallSquares) {
    return {a, (a + b + c) / 2, (a - b + c) / 2, c};
  }
  // The value at each point, divided by the product of its distances from the others.
  return {a / (kA2 * kB2),
          (a + kA * b + kA2 * c) / kAtA,
          (a - kA * b + kA2 * c) / kAtA,
          (a + kB * b + kB2 * c) / kAtB,
          (a - kB * b + kB2 * c) / kAtB,
          c};
}

RecoveredWeight recovered_weight(WinogradForm form, int64_t position) {
  const bool small = form == kSmallSquares;
  switch (position) {
    case 0: return {.factor = small ? 1 : kA2 * kB2, .number = 0};
    case 1: return {.factor = small ? 1 : kAtA / (2 * kA), .number = 1, .less = 2};
    default: return {.number = form.pixels() - 1};
  }
}

}  // namespace tenon::layouts
