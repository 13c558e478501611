// log and log1p. x = 2^k (1 + f) with 1 + f between sqrt(1/2) and sqrt(2), log(x) = k ln 2 + log(1 + f).
#include <array>
#include <limits>

#include "codegen/math/llvm_math.h"

namespace tenon::codegen {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int64_t kSqrtHalf = 0x3f3504f3;  // the word of sqrt(1/2)
constexpr int64_t kOne = 0x3f800000;

// ln 2 in two parts; the product of the first with k is exact.
constexpr double kLn2High = 0x1.63p-1;
constexpr double kLn2Low = -0x1.bd0106p-13;

// (log(1 + f) - f + f^2 / 2) / f^3
constexpr auto kLog = std::to_array({0x1.555554p-2, -0x1.000226p-2, 0x1.99a01cp-3, -0x1.54728ap-3, 0x1.22d93p-3,
                                     -0x1.0d8246p-3, 0x1.055eaep-3, -0x1.38c974p-4});

/// k ln 2 + log(1 + f)
Lanes sum(Lanes k, Lanes f) {
  const Lanes square = f * f;
  const Lanes tail = fma(square * f, polynomial(f, kLog), k * kLn2Low);
  return fma(k, kLn2High, fma(square, -0.5, tail) + f);
}

/// `regular` where x is positive and finite; what log is elsewhere.
Lanes with_ends(Lanes x, Lanes regular) {
  const Lanes above = select(x < kInfinity, regular, x);  // infinity and NaN
  const Lanes ends = select(x == 0, number(x, -kInfinity), std::numeric_limits<double>::quiet_NaN());
  return select(x <= 0, ends, above);
}

}  // namespace

Lanes log_f32(Lanes x) {
  // Subnormal numbers are scaled up by 2^23; taking that from the word, beyond the range of floats, gives the true k.
  const Lanes word = select(x < 0x1p-126, bits(x * 0x1p23) - (23 << 23), bits(x));
  const Lanes k = shift_right_signed(word - kSqrtHalf, 23);
  const Lanes f = as_float(word - (k << 23)) - 1;
  return with_ends(x, sum(to_float(k), f));
}

Lanes log1p_f32(Lanes x) {
  const Lanes u = x + 1;
  const Lanes lost = x - (u - 1);  // by rounding u; exact where it matters
  const Lanes k = shift_right_signed(bits(u) - kSqrtHalf, 23);
  // 2^-k does not exist for the largest k, where nothing that counts was lost.
  const Lanes inverse = as_float(kOne - (select(k < 126, k, 126) << 23));
  const Lanes f = fma(lost, inverse, as_float(bits(u) - (k << 23)) - 1);
  return copysign(with_ends(u, sum(to_float(k), f)), x);
}

}  // namespace tenon::codegen
