// sin, cos, atan2 and erf of f64.
#include <llvm/IR/Constants.h>
#include <llvm/IR/Module.h>

#include <array>
#include <limits>
#include <numbers>

#include "codegen/math/llvm_math_f64.h"

namespace tenon::codegen {
namespace {

namespace wide_angles {

constexpr double kShift = 0x1.8p+52;
constexpr int64_t kSign = std::numeric_limits<int64_t>::min();
/// Beyond this pi would need more parts.
constexpr double kLimit = 0x1p40;

// (sin(r) - r) / r^3 in r^2, for |r| <= pi / 2.
constexpr auto kSin =
    std::to_array({-0x1.5555555555555p-3, 0x1.1111111111111p-7, -0x1.a01a01a01a01ap-13, 0x1.71de3a556c734p-19,
                   -0x1.ae64567f544e4p-26, 0x1.6124613a86d09p-33, -0x1.ae7f3e733b81fp-41, 0x1.952c77030ad4ap-49,
                   -0x1.2f49b46814157p-57, 0x1.71b8ef6dcf572p-66, -0x1.761b41316381ap-75});
// (atan(q) - q) / q^3 in q^2, for |q| <= tan(pi / 8).
constexpr auto kAtan = std::to_array(
    {-0x1.5555555555555p-2, 0x1.999999999999ap-3,  -0x1.2492492492492p-3, 0x1.c71c71c71c71cp-4,  -0x1.745d1745d1746p-4,
     0x1.3b13b13b13b14p-4,  -0x1.1111111111111p-4, 0x1.e1e1e1e1e1e1ep-5,  -0x1.af286bca1af28p-5, 0x1.8618618618618p-5,
     -0x1.642c8590b2164p-5, 0x1.47ae147ae147bp-5,  -0x1.2f684bda12f68p-5, 0x1.1a7b9611a7b96p-5,  -0x1.0842108421084p-5,
     0x1.f07c1f07c1f08p-6,  -0x1.d41d41d41d41dp-6, 0x1.bacf914c1bad0p-6,  -0x1.a41a41a41a41ap-6, 0x1.8f9c18f9c18fap-6,
     -0x1.7d05f417d05f4p-6});
// erf(x) / x in x^2, for |x| <= 1.
constexpr auto kErf =
    std::to_array({0x1.20dd750429b6dp+0, -0x1.812746b0379e7p-2, 0x1.ce2f21a042be2p-4, -0x1.b82ce31288b51p-6,
                   0x1.565bcd0e6a53fp-8, -0x1.c02db40040b86p-11, 0x1.f9a326f9b89b7p-14, -0x1.f4d25c3e0c2ebp-17,
                   0x1.b9e6c9dc651a3p-20, -0x1.5f742ec43e71ap-23, 0x1.fcc5720624c1cp-27, -0x1.51d7181c5d36dp-30,
                   0x1.9e6ad5e55a730p-34, -0x1.d8453cb0c46eap-38, 0x1.f683ae4a97007p-42, -0x1.f56f071a885cfp-46,
                   0x1.d70b3537f4765p-50, -0x1.a2007af3447f6p-54});
// exp(x^2) (1 - erf(x)) in (x - 2) / (x + 2), for x from 1 to 6.1: fitted at Chebyshev's points.
constexpr auto kErfc =
    std::to_array({0x1.058671b52c776p-2,   -0x1.b57034efd3f72p-2,  0x1.eeea7dc8a78b3p-3,   -0x1.437f0b68c0c24p-4,
                   0x1.e9471597a0c90p-9,   0x1.ca95ed5345c1ap-8,   -0x1.bc25a47fd6586p-11, -0x1.016b5cec1e8e3p-10,
                   0x1.6d5f0517720ebp-15,  0x1.6da979df41369p-13,  0x1.cdca3261a7799p-16,  -0x1.ceb9462c43c3fp-16,
                   -0x1.d472b431aa6c8p-17, 0x1.76171ba528381p-20,  0x1.f685ac3734e01p-19,  0x1.41d1d9f2e3663p-20,
                   -0x1.a144b54f641c9p-22, -0x1.26b3f8f0d393fp-21, -0x1.67396c507aa0cp-23, 0x1.9c89788dd54c6p-23});

/// 1 / pi as a binary fraction: 64 zeros, then its bits.
constexpr auto kInversePi = std::to_array<uint64_t>({0,
                                                     0x517cc1b727220a94,
                                                     0xfe13abe8fa9a6ee0,
                                                     0x6db14acc9e21c820,
                                                     0xff28b1d5ef5de2b0,
                                                     0xdb92371d2126e970,
                                                     0x324977504e8c90e,
                                                     0x7f0ef58e5894d39f,
                                                     0x74411afa975da242,
                                                     0x74ce38135a2fbf20,
                                                     0x9cc8eb1cc1a99cfa,
                                                     0x4e422fc5defc941d,
                                                     0x8ffc4bffef02cc07,
                                                     0xf79788c5ad05368f,
                                                     0xb69b3f6793e584db,
                                                     0xa7a31fb34f2ff516,
                                                     0xba93dd63f5f2f8bd,
                                                     0x9e839cfbc5294975,
                                                     0x35fdafd88fc6ae84,
                                                     0x2b0198237e3db5d5,
                                                     0xf867de104d7a1b0e});
constexpr int64_t kUnit = 1075;  // |x| = m 2^(exponent - kUnit) with a whole m

struct Reduced {
  Lanes rest;   // x - (k + half) pi, at most pi / 2
  Lanes count;  // a word that has k in its low bits
};

Reduced reduce(Lanes x, double half) {
  const Lanes shifted = half == 0 ? fma(x, std::numbers::inv_pi, number(x, kShift))
                                  : fma(x, std::numbers::inv_pi, number(x, -half)) + kShift;
  const Lanes k = half == 0 ? shifted - kShift : shifted - kShift + half;
  Lanes rest = fnma(k, 0x1.921fb54442d18p+1, x);
  rest = fnma(k, 0x1.1a62633145c07p-53, rest);
  rest = fnma(k, -0x1.f1976b7ed8fbcp-109, rest);
  return {rest, bits(shifted)};
}

llvm::GlobalVariable* inverse_pi(llvm::Module& module) {
  constexpr const char* name = "tenon_inverse_pi_f64";
  if (auto* const there = module.getGlobalVariable(name, true)) return there;
  llvm::Constant* const all = llvm::ConstantDataArray::get(module.getContext(), kInversePi);
  return new llvm::GlobalVariable(module, all->getType(), true, llvm::GlobalValue::InternalLinkage, all, name);
}

struct Two {
  llvm::Value* rest = nullptr;
  llvm::Value* count = nullptr;
};

/// Of one number of more than kLimit. |x| / pi modulo 2 is m times the bits of 1 / pi from those on that stand for 2 /
/// 2^e and less: 192 of them are enough for every f64.
Two reduce_one(llvm::IRBuilderBase& b, llvm::Value* x, bool half) {
  llvm::IntegerType* const word = b.getInt64Ty();
  const auto constant = [&](uint64_t value) { return b.getInt64(value); };
  llvm::Value* const bits = b.CreateBitCast(x, word);
  llvm::Value* const exponent = b.CreateAnd(b.CreateLShr(bits, 52), 0x7ff);
  llvm::Value* const m = b.CreateOr(b.CreateAnd(bits, 0xfffffffffffff), uint64_t{1} << 52);
  // The first bit that is wanted; smaller numbers beside those that are meant read something, too.
  llvm::Value* const first = b.CreateBinaryIntrinsic(
      llvm::Intrinsic::smax, b.CreateSub(exponent, constant(static_cast<uint64_t>(kUnit - 63))), constant(0));
  llvm::Value* const at =
      b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, b.CreateLShr(first, 6), constant(kInversePi.size() - 4));
  llvm::Value* const shift = b.CreateAnd(first, 63);
  llvm::GlobalVariable* const table = inverse_pi(*b.GetInsertBlock()->getModule());
  std::array<llvm::Value*, 4> given{};
  for (size_t i = 0; i < given.size(); ++i)
    given[i] = b.CreateLoad(word, b.CreateGEP(word, table, b.CreateAdd(at, constant(i))));
  const auto part = [&](size_t i) {
    return b.CreateIntrinsic(llvm::Intrinsic::fshl, {word}, {given[i], given[i + 1], shift});
  };
  const auto high_half = [&](llvm::Value* a) {
    llvm::Type* const twice = b.getInt128Ty();
    return b.CreateTrunc(b.CreateLShr(b.CreateMul(b.CreateZExt(a, twice), b.CreateZExt(m, twice)), 64), word);
  };
  // In units of 2^-127 of two words; what wraps is a multiple of 2.
  llvm::Value* const middle = part(1);
  llvm::Value* const lowest = high_half(part(2));
  llvm::Value* low = b.CreateAdd(b.CreateMul(m, middle), lowest);
  llvm::Value* const carry = b.CreateZExt(b.CreateICmpULT(low, lowest), word);
  llvm::Value* high = b.CreateAdd(b.CreateAdd(b.CreateMul(m, part(0)), high_half(middle)), carry);
  if (half) high = b.CreateSub(high, constant(uint64_t{1} << 62));
  llvm::Value* const count = b.CreateLShr(b.CreateAdd(high, constant(uint64_t{1} << 62)), 63);
  high = b.CreateSub(high, b.CreateShl(count, 63));
  // As a magnitude, so that nothing cancels.
  llvm::Value* const negative = b.CreateICmpSLT(high, constant(0));
  llvm::Value* const turned = b.CreateAdd(b.CreateNot(high), b.CreateZExt(b.CreateICmpEQ(low, constant(0)), word));
  high = b.CreateSelect(negative, turned, high);
  low = b.CreateSelect(negative, b.CreateNeg(low), low);
  llvm::Type* const f64 = b.getDoubleTy();
  llvm::Value* const sum = b.CreateFAdd(b.CreateFMul(b.CreateUIToFP(high, f64), llvm::ConstantFP::get(f64, 0x1p-63)),
                                        b.CreateFMul(b.CreateUIToFP(low, f64), llvm::ConstantFP::get(f64, 0x1p-127)));
  llvm::Value* const rest = b.CreateFMul(sum, llvm::ConstantFP::get(f64, std::numbers::pi));
  llvm::Value* const finite = b.CreateICmpNE(exponent, constant(0x7ff));
  return {b.CreateSelect(finite, b.CreateSelect(negative, b.CreateFNeg(rest), rest), llvm::ConstantFP::getNaN(f64)),
          count};
}

Reduced reduce_far(Lanes magnitude, bool half) {
  llvm::IRBuilderBase& b = magnitude.builder();
  const unsigned lanes = lane_count(magnitude.type());
  if (lanes == 0) {
    const Two one = reduce_one(b, magnitude.value, half);
    return {magnitude.with(one.rest), magnitude.with(one.count)};
  }
  Two all{llvm::PoisonValue::get(magnitude.type()),
          llvm::PoisonValue::get(with_lanes_of(magnitude.type(), b.getInt64Ty()))};
  for (unsigned i = 0; i < lanes; ++i) {
    const Two one = reduce_one(b, b.CreateExtractElement(magnitude.value, i), half);
    all.rest = b.CreateInsertElement(all.rest, one.rest, i);
    all.count = b.CreateInsertElement(all.count, one.count, i);
  }
  return {magnitude.with(all.rest), magnitude.with(all.count)};
}

/// sin(rest), negative for an odd count.
Lanes sine(const Reduced& to) {
  const Lanes square = to.rest * to.rest;
  const Lanes magnitude = fma(to.rest * square, polynomial(square, kSin), to.rest);
  const Lanes within_one = at_most(at_least(magnitude, -1), 1);  // rounding may pass it
  return as_float(bits(within_one) ^ (to.count << 63));
}

/// Of 0 to infinity. Beyond tan(pi / 8) by the angle away from pi / 4.
Lanes atan_up_to_one(Lanes q) {
  const Lanes is_far = number(q, 0.41421356237309503) < q;
  const Lanes r = select(is_far, (q - 1) / (q + 1), q);
  const Lanes square = r * r;
  const Lanes angle = fma(r * square, polynomial(square, kAtan), r);
  return select(is_far, (angle + 0x1.1a62633145c07p-55) + 0x1.921fb54442d18p-1, angle);
}

}  // namespace wide_angles
}  // namespace

Lanes sin_f64(Lanes x) {
  // By the magnitude, since sums would turn -0 into 0.
  const Lanes magnitude = abs(x);
  const Lanes near = wide_angles::sine(wide_angles::reduce(magnitude, 0));
  const Lanes result = replace_rarely(number(x, wide_angles::kLimit) < magnitude, near,
                                      [&] { return wide_angles::sine(wide_angles::reduce_far(magnitude, false)); });
  // Of NaN, which is beyond no limit, it is NaN.
  return as_float(bits(result) ^ (bits(x) & wide_angles::kSign));
}

Lanes cos_f64(Lanes x) {
  // cos(k pi + pi / 2 + r) = -sin(k pi + r)
  const Lanes magnitude = abs(x);
  const Lanes near = -wide_angles::sine(wide_angles::reduce(magnitude, 0.5));
  return replace_rarely(number(x, wide_angles::kLimit) < magnitude, near,
                        [&] { return -wide_angles::sine(wide_angles::reduce_far(magnitude, true)); });
}

Lanes atan2_f64(Lanes y, Lanes x) {
  const Lanes height = abs(y);
  const Lanes width = abs(x);
  const Lanes steep = width < height;
  const Lanes larger = at_least(select(steep, height, width), 0x1p-1074);  // 0 / 0 becomes 0
  const Lanes smaller = select(steep, width, height);
  const Lanes q = select(smaller == larger, 1.0, smaller / larger);  // also infinity / infinity
  const Lanes angle = wide_angles::atan_up_to_one(q);
  // From the first half quadrant to the first quadrant, then to the second: pi / 2 - angle, pi - angle, in two parts.
  const Lanes quadrant = select(steep, (0x1.921fb54442d18p+0 - angle) + 0x1.1a62633145c07p-54, angle);
  const Lanes left = bits(x) < int64_t{0};  // -0 as well
  const Lanes result = select(left, (0x1.921fb54442d18p+1 - quadrant) + 0x1.1a62633145c07p-53, quadrant);
  return copysign(result, y);
}

Lanes erf_f64(Lanes x) {
  const Lanes magnitude = at_most(abs(x), 6.1);  // from there on it is 1
  const Lanes square = magnitude * magnitude;
  const Lanes near = magnitude * polynomial(square, wide_angles::kErf);
  const Lanes t = (magnitude - 2) / (magnitude + 2);
  const Lanes far = 1 - exp_f64(-square) * polynomial(t, wide_angles::kErfc);
  return copysign(select(magnitude < 1, near, far), x);
}

}  // namespace tenon::codegen
