#include "onnx/import/float_bits.h"

#include "base/fail.h"

namespace tenon::importer {
namespace {

// f32: a sign, 8 bits of exponent, 23 of mantissa. f16: a sign, 5 and 10. An exponent of f32 is 112 more.
constexpr double kInfinity = 0x7f800000;
constexpr double kHalfInfinity = 0x7c00;
constexpr double kMoreExponent = 112 << 23;
constexpr double kMoreHalfExponent = 112 << 10;
constexpr int kMoreMantissa = 13;
constexpr double kLeastNormalHalf = 113 << 23;
constexpr double kLeastHalf = 0x1p-24;

Value words_of(const Value& x) { return cast(reinterpret(cast(x, Dtype::f32)), Dtype::u32); }
Value of_words(const Value& words) { return reinterpret(cast(words, Dtype::i32)); }

Value half_bits(const Value& x) {
  const Value words = words_of(x);
  const Value size = bit_and(words, 0x7fffffff);
  const Value high = shr(size, kMoreMantissa);
  // What is not normal in f16 is a whole number of the least of them.
  const Value small = cast(abs(cast(x, Dtype::f32)) / kLeastHalf, Dtype::u32);
  const Value endless = bit_or(bit_and(high, 0x3ff), kHalfInfinity);
  const Value normal = high - kMoreHalfExponent;
  const Value bits = select(lt(size, kLeastNormalHalf), small, select(ge(size, kInfinity), endless, normal));
  return cast(bit_or(bits, bit_and(shr(words, 16), 0x8000)), Dtype::u16);
}

Value from_half_bits(const Value& integers) {
  const Value words = cast(cast(integers, Dtype::u16), Dtype::u32);
  const Value size = bit_and(words, 0x7fff);
  const Value high = shl(size, kMoreMantissa);
  const Value small = cast(reinterpret(cast(size, Dtype::f32) * kLeastHalf), Dtype::u32);
  const Value endless = bit_or(high, kInfinity);
  const Value normal = high + kMoreExponent;
  const Value bits = select(lt(size, 0x400), small, select(ge(size, kHalfInfinity), endless, normal));
  return cast(of_words(bit_or(bits, shl(bit_and(words, 0x8000), 16))), Dtype::f16);
}

}  // namespace

Value bits_of(const Value& x) {
  switch (x.dtype()) {
    case Dtype::f32:
    case Dtype::f64: return reinterpret(x);
    case Dtype::bf16: return cast(shr(words_of(x), 16), Dtype::u16);
    case Dtype::f16: return half_bits(x);
    default: TENON_CHECK(false, "{} is no float", name(x.dtype()));
  }
}

Value from_bits(const Value& integers, Dtype to) {
  switch (to) {
    case Dtype::f32: return reinterpret(cast(integers, Dtype::i32));
    case Dtype::f64: return reinterpret(cast(integers, Dtype::i64));
    case Dtype::bf16: return cast(of_words(shl(cast(cast(integers, Dtype::u16), Dtype::u32), 16)), Dtype::bf16);
    case Dtype::f16: return from_half_bits(integers);
    default: TENON_CHECK(false, "{} is no float", name(to));
  }
}

}  // namespace tenon::importer
