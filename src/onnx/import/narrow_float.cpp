#include "onnx/import/narrow_float.h"

namespace tenon::importer {
namespace {

Value table(const std::vector<float>& values) {
  return constant(Array::from<float>({static_cast<int64_t>(values.size())}, values));
}

}  // namespace

Value decoded(const Value& codes, Format format) { return take(table(values_of(format)), cast(codes, Dtype::i64), 0); }

Value encoded(const Value& numbers, Format format, bool saturate) {
  const FormatCodes codes = codes_of(format);
  const Value x = cast(numbers, Dtype::f32);
  const Value size = abs(x);
  const Value steps_passed = cast(gt(expand_dims(size, {-1}), table(steps_of(format))), Dtype::i32);
  const Value count = reduce_sum(steps_passed, {-1});
  const Value largest = scalar(Dtype::i32, codes.largest);
  const Value beyond = scalar(Dtype::i32, saturate ? codes.largest : codes.beyond);
  const Value magnitude = select(gt(count, largest), beyond, count);
  const Value nan = scalar(Dtype::i32, codes.nan);
  if (codes.sign == 0) {
    return cast(select(isnan(x), nan, magnitude), Dtype::u8);
  }
  const Value is_negative = logical_or(lt(x, 0), logical_and(eq(x, 0), lt(1 / x, 0)));
  const Value has_sign = codes.negative_zero ? is_negative : logical_and(is_negative, gt(magnitude, 0));
  const Value with_sign = bit_or(magnitude, select(has_sign, scalar(Dtype::i32, codes.sign), scalar(Dtype::i32, 0)));
  return cast(select(isnan(x), nan, with_sign), Dtype::u8);
}

}  // namespace tenon::importer
