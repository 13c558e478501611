// pow and rem. |x|^y = 2^(y log2|x|); the product takes f64, since its error is multiplied by up to 128.
#include <array>
#include <limits>

#include "codegen/math/llvm_math.h"

namespace tenon::codegen {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int64_t kSqrtHalf = 0x3f3504f3;  // the word of sqrt(1/2)
constexpr double kWideShift = 0x1.8p+52;   // adding this rounds to an integer, found in the low bits of the word

// log2(1 + f) / f
constexpr auto kLog2 =
    std::to_array({1.4426950409393449, -0.7213475252133364, 0.48089832072840544, -0.3606728005256672,
                   0.2885406436358362, -0.24050417511145467, 0.20609625502959023, -0.1790469346718159,
                   0.15900149523288543, -0.1569823745905836, 0.15485762483760765, -0.08634589666927585});
// (2^f - 1) / f
constexpr auto kExp2 =
    std::to_array({0x1.62e43p-1, 0x1.ebfbep-3, 0x1.c6af7ap-5, 0x1.3b2a28p-7, 0x1.5f0972p-10, 0x1.4447b4p-13});

/// log2 in f64 of a number that is not negative.
Lanes log2_wide(Lanes x) {
  const Lanes word = select(x < 0x1p-126, bits(x * 0x1p23) - (23 << 23), bits(x));
  const Lanes k = shift_right_signed(word - kSqrtHalf, 23);
  const Lanes f = to_double(as_float(word - (k << 23)) - 1);
  // The ends enter as k.
  const Lanes ends = select(x < kInfinity, select(x == 0, -kInfinity, to_float(k)), x);
  return fma(f, polynomial(f, kLog2), to_double(ends));
}

/// 2^t of f64 as f32.
Lanes exp2_narrow(Lanes t) {
  const Lanes inside = at_most(at_least(t, -151), 129);
  const Lanes shifted = inside + (kWideShift + 254);
  const Lanes f = to_single(inside - (shifted - (kWideShift + 254)));
  return scale_by_power(fma(polynomial(f, kExp2), f, 1.0), low_words(shifted));
}

}  // namespace

Lanes pow_f32(Lanes x, Lanes y) {
  const Lanes magnitude = abs(x);
  // A limit that changes no result but 1^infinity, which is 1.
  const Lanes exponent = at_most(at_least(y, -0x1p40), 0x1p40);
  const Lanes power = exp2_narrow(to_double(exponent) * log2_wide(magnitude));

  const Lanes half = y * 0.5;
  const Lanes whole = floor(y) == y;
  const Lanes odd = whole & (floor(half) != half);
  const Lanes sign = select(odd, bits(x) & int64_t{-0x80000000LL}, number(bits(x), 0));
  const Lanes undefined = (x < 0) & (magnitude < kInfinity) & !whole;
  const Lanes signed_power = select(undefined, std::numeric_limits<double>::quiet_NaN(), as_float(bits(power) ^ sign));
  return select((y == 0) | (x == 1), 1.0, signed_power);
}

Lanes rem_f32(Lanes x, Lanes y) {
  // x - n y is exact where the integer n is; rounding the quotient makes n too large by one at most.
  const Lanes rest = [&] {
    if (x.fma()) {
      return fnma(trunc(x / y), y, x);
    }
    const Lanes wide = to_double(x);
    const Lanes divisor = to_double(y);
    return to_single(wide - to_double(trunc(to_single(wide / divisor))) * divisor);
  }();
  const Lanes crossed = (bits(rest) ^ bits(x)) < 0;  // or is 0, where adding y changes nothing that copysign keeps
  const Lanes result = copysign(select(crossed & (rest != 0), rest + copysign(y, x), rest), x);
  const Lanes regular = (abs(x) < abs(y) * 0x1p22) & (abs(y) < kInfinity);
  return replace_rarely(!regular, result, [&] {
    const std::array<Lanes, 2> operands = {x, y};
    return call_lanes(Prim::rem, Dtype::f32, operands);
  });
}

}  // namespace tenon::codegen
