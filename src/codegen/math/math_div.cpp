// Many numbers by one: with the reciprocal at hand, multiplications find the quotient that a division would, bit for
// bit, at a fraction of its price.
//
// With y = 1/b rounded, q = a y is within two units of the last place; one step q + y (a - b q) makes it faithful, and
// a second one correctly rounded (Markstein), as long as a - b q is exact: nothing under- or overflows.
#include "codegen/math/llvm_math.h"

namespace tenon::codegen {
namespace {

// Words of floats: 2^-101 to 2^100 may be divided by 2^-20 to 2^20. Below 2^-101 the rest may be subnormal.
constexpr int64_t kLeast = int64_t{127 - 101} << 23;
constexpr int64_t kMost = int64_t{127 + 100} << 23;
constexpr int64_t kLeastDivisor = int64_t{127 - 20} << 23;
constexpr int64_t kMostDivisor = int64_t{127 + 20} << 23;
constexpr int64_t kMagnitude = 0x7fffffff;
constexpr int64_t kNan = 0x7fc00000;

Lanes spread(Lanes scalar, Lanes like) {
  const unsigned lanes = lane_count(like.type());
  return scalar.with(scalar.builder().CreateVectorSplat(lanes, scalar.value));
}

}  // namespace

OneDivisor prepare_divisor_f32(Lanes b) {
  const Lanes fits = below((bits(b) & kMagnitude) - kLeastDivisor, constant(bits(b), kMostDivisor - kLeastDivisor));
  // Of a divisor that does not fit nothing is within reach, and in the place of 0 stands what is NaN either way.
  return {.value = b,
          .reciprocal = 1.0 / b,
          .reach = select(fits, kMost - kLeast, constant(bits(b), int64_t{0})),
          .zero = select(fits, int64_t{0}, constant(bits(b), kNan))};
}

Lanes div_by_one_f32(Lanes a, const OneDivisor& b) {
  const Lanes y = spread(b.reciprocal, a);
  const Lanes divisor = spread(b.value, a);
  const Lanes near = below((bits(a) & kMagnitude) - kLeast, spread(b.reach, a)) | (bits(a) == spread(b.zero, a));
  // A rest that is subnormal takes a processor a hundred times as long, though nobody wants it: one of 0 is as good.
  const Lanes dividend = select(near, a, 0.0);
  const Lanes first = dividend * y;
  const Lanes second = fma(fnma(divisor, first, dividend), y, first);
  const Lanes quotient = fma(fnma(divisor, second, dividend), y, second);
  return replace_rarely(!near, quotient, [&] { return a / divisor; });
}

}  // namespace tenon::codegen
