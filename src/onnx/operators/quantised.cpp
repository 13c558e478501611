#include "onnx/operators/quantised.h"

#include <algorithm>
#include <iterator>

#include "base/refused.h"

namespace tenon::importer {
namespace {

std::pair<double, double> range_of(Dtype dtype, Format format) {
  switch (format) {
    case Format::int2: return {-2, 1};
    case Format::uint2: return {0, 3};
    case Format::int4: return {-8, 7};
    case Format::uint4: return {0, 15};
    default: break;
  }
  switch (dtype) {
    case Dtype::i8: return {-128, 127};
    case Dtype::u8: return {0, 255};
    case Dtype::i16: return {-32768, 32767};
    case Dtype::u16: return {0, 65535};
    default: refuse("quantisation to {} is not supported", name(dtype));
  }
}

}  // namespace

Value saturated(const Value& x, const Value& zero, Dtype dtype, Format format) {
  const auto [low, high] = range_of(dtype, format);
  const Value rounded = round(x);
  const Value beside_zero = zero ? rounded + cast(zero, x.dtype()) : rounded;
  // A cast saturates at the ends of the dtype.
  return cast(format == Format::plain ? beside_zero : clamp(beside_zero, low, high), dtype);
}

bool is_single(const Value& parameter) {
  return std::ranges::all_of(parameter.shape().axes(), [](const Axis& axis) { return axis.extent() == Extent(1); });
}

std::optional<Value> as_vector(const Value& parameter) {
  std::vector<Axis> longer;
  std::ranges::copy_if(parameter.shape().axes(), std::back_inserter(longer),
                       [](const Axis& axis) { return axis.extent() != Extent(1); });
  return longer.size() == 1 ? std::optional(reshape(parameter, longer)) : std::nullopt;
}

DynamicQuantised quantised_by_range(const Value& x) {
  const Value low = min(reduce_min(x), 0);
  const Value range = max(reduce_max(x), 0) - low;
  const Value scale = select(eq(range, 0), 1, range / 255);  // of zeros alone, as ONNX Runtime has it
  const Value zero = saturated(-low / scale, {}, Dtype::u8);
  return {saturated(x / scale, zero, Dtype::u8), scale, zero};
}

}  // namespace tenon::importer
