// Quantised operators: integers, scales and zero points.
#include "base/refused.h"
#include "onnx/import/few_bits_source.h"
#include "onnx/import/narrow_float.h"
#include "onnx/import/registry.h"
#include "onnx/operators/quantised.h"
#include "onnx/operators/quantised_product.h"
#include "onnx/operators/sliding_attributes.h"
#include "tenon/indexing.h"

namespace tenon::importer {
namespace {

/// A scale or zero point beside x: one for all, one for each element of `axis`, or one for each block along it.
Value along_axis(const Value& given, const Value& x, int axis, int64_t block) {
  if (block > 0 && given.rank() > 0 && x.rank() > 0) {
    const Value each = repeat_interleave(given, block, axis);
    const Extent count = x.extent(axis);
    return each.extent(axis) == count ? each : slice_axis(each, axis, 0, count);  // the last block may be cut short
  }
  if (is_single(given)) {
    return given.rank() == 0 ? given : reshape(given, {});
  }
  if (given.rank() > 1 && given.rank() == x.rank()) {
    return given;
  }
  const Value parameter = as_vector(given).value_or(given);
  if (parameter.rank() != 1) {
    refuse("a scale or zero point is {}, must be one, or one for each element of an axis", given.shape().to_string());
  }
  if (x.rank() <= 1) {
    return parameter;
  }
  const int along = x.shape().normalize_axis(axis);
  if (compare(parameter.extent(0), x.extent(along)) == Comparison::different) {
    refuse("axis {} of x is {}, but there are {} scales or zero points", along, x.shape().axis(along).to_string(),
           parameter.extent(0).to_string());
  }
  std::vector<Axis> axes(static_cast<size_t>(x.rank()), Axis(1));
  axes[static_cast<size_t>(along)] = parameter.shape().axis(0);
  return reshape(parameter, axes);
}

struct Parameters {
  Value scale;
  Value zero;
};

Parameters parameters(const NodeCall& call) {
  const Value& x = call.x(0);
  const int axis = call.axis("axis", 1);
  const int64_t block = call.attribute("block_size", 0);
  if (!is_float(call.x(1).dtype()) && call.item(1).format == Format::plain) {
    refuse("the scale is {}, must be floats", call.x(1).shape().to_string());
  }
  const Format of_scale = call.item(1).format;  // powers of 2, beside floats of four bits
  const Value scale = is_narrow_float(of_scale) ? decoded(call.x(1), of_scale) : call.x(1);
  Parameters result{along_axis(scale, x, axis, block), {}};
  if (call.has(2)) {
    result.zero = along_axis(call.x(2), x, axis, block);
  }
  return result;
}

Results quantize(const NodeCall& call) {
  const Parameters by = parameters(call);
  const Value& x = call.x(0);
  const Dtype wide = is_float(x.dtype()) ? compute_dtype(x.dtype()) : Dtype::f32;
  const Dtype dtype = by.zero ? by.zero.dtype() : call.dtype_attribute("output_dtype", Dtype::u8);
  const Format format = by.zero ? call.item(2).format : call.format_attribute("output_dtype");
  if (format == Format::plain && is_quantised_by(call, call.item(0), call.x(1), call.x_or_none(2))) {
    return call.item(0).quantised->x;
  }
  const Value steps = cast(x, wide) / cast(by.scale, wide);
  if (is_narrow_float(format)) {
    const Value beside_zero = by.zero ? select(eq(steps, 0), scalar(wide, 0), steps) : steps;  // -0 + 0 is 0
    return Item(encoded(beside_zero, format, call.flag("saturate", true)), format);
  }
  return Item(saturated(steps, by.zero, dtype, format), format);
}

Results dequantize(const NodeCall& call) {
  const Parameters by = parameters(call);
  const auto few_bits = few_bits_source(call, call.axis("axis", 1), call.attribute("block_size", 0));
  if (const Format format = call.item(0).format; is_narrow_float(format)) {
    Item result(cast(decoded(call.x(0), format), by.scale.dtype()) * by.scale);
    result.few_bits = few_bits;
    return result;
  }
  if (by.zero && by.zero.dtype() != call.x(0).dtype()) {
    refuse("the zero point is {}, must be {} as x is", by.zero.shape().to_string(), name(call.x(0).dtype()));
  }
  Item result(cast(offset(call.x(0), by.zero), by.scale.dtype()) * by.scale);
  if (call.attribute("block_size", 0) == 0) {
    result.quantised = std::make_shared<const QuantisedSource>(
        QuantisedSource{call.x(0), call.x(1), call.x_or_none(2), call.axis("axis", 1)});
  }
  result.few_bits = few_bits;
  return result;
}

Results dynamic_quantize(const NodeCall& call) {
  const DynamicQuantised result = quantised_by_range(call.x(0));
  return std::vector<Value>{result.x, result.scale, result.zero};
}

Results matmul_integer(const NodeCall& call) {
  return integer_product(call, call.x(0), call.x_or_none(2), call.x(1), call.x_or_none(3));
}

Results conv_integer(const NodeCall& call) {
  return integer_conv(call, call.x(0), call.x_or_none(2), call.x(1), call.x_or_none(3));
}

Results quantized_matmul(const NodeCall& call) {
  const Value product = integer_product(call, call.x(0), call.x(2), call.x(3), call.x(5));
  const Value a_scale = beside_rows(call.x(1));
  const Value factor = a_scale * call.x(4) / call.x(6);
  return saturated(cast(product, Dtype::f32) * cast(factor, Dtype::f32), call.x(7), call.x(7).dtype());
}

/// That of com.microsoft may have its channels last, in x and in what it gives, and leave zero points out.
Results quantized_conv(const NodeCall& call) {
  const bool last = call.flag("channels_last");
  const Value x = last ? channels_second(call.x(0)) : call.x(0);
  Value sums = integer_conv(call, x, call.x_or_none(2), call.x(3), call.x_or_none(5));
  if (call.has(8)) {
    sums = sums + along_channels(call.x(8), sums.rank());
  }
  const Value& w_scale = call.x(4);
  const bool each = w_scale.rank() == 1 && w_scale.extent(0) != Extent(1);
  const Value factor = call.x(1) * (each ? along_channels(w_scale, sums.rank()) : w_scale) / call.x(6);
  const Value zero = call.x_or_none(7);
  const Value y = saturated(cast(sums, Dtype::f32) * factor, zero, zero ? zero.dtype() : x.dtype());
  return last ? channels_last(y) : y;
}

}  // namespace

std::vector<OperatorEntry> quant_operators() {
  return {
      {"", "QuantizeLinear", 10, quantize, ElementUse::any},
      {"", "DequantizeLinear", 10, dequantize, ElementUse::any},
      {"", "DynamicQuantizeLinear", 11, dynamic_quantize},
      {"", "MatMulInteger", 10, matmul_integer},
      {"", "ConvInteger", 10, conv_integer},
      {"", "QLinearMatMul", 10, quantized_matmul},
      {"", "QLinearConv", 10, quantized_conv},
      {kMicrosoft, "QLinearConv", 1, quantized_conv},
      {kMicrosoft, "QuantizeLinear", 1, quantize},  // older names of the two, for more types
      {kMicrosoft, "DequantizeLinear", 1, dequantize},
  };
}

}  // namespace tenon::importer
