// Quantised operators: integers, scales and zero points.
#include <limits>

#include "base/fail.h"
#include "onnx/import/registry.h"
#include "onnx/operators/sliding_attributes.h"
#include "tenon/convolution.h"
#include "tenon/indexing.h"

namespace tenon::importer {
namespace {

/// A scale or zero point beside x: one for all, one for each element of `axis`, or one for each block along it.
Value along_axis(const Value& parameter, const Value& x, int axis, int64_t block) {
  if (parameter.rank() == 0 || (parameter.rank() == 1 && x.rank() <= 1)) {
    return parameter;
  }
  if (block > 0) {
    return repeat(parameter, block, axis);
  }
  if (parameter.rank() != 1) {
    return parameter;
  }
  if (parameter.extent(0) == Extent(1)) {
    return reshape(parameter, {});
  }
  std::vector<Axis> axes(static_cast<size_t>(x.rank()), Axis(1));
  axes[static_cast<size_t>(x.shape().normalize_axis(axis))] = parameter.shape().axis(0);
  return reshape(parameter, axes);
}

std::pair<double, double> range_of(Dtype dtype, bool half_byte) {
  switch (dtype) {
    case Dtype::i8: return half_byte ? std::pair(-8.0, 7.0) : std::pair(-128.0, 127.0);
    case Dtype::u8: return half_byte ? std::pair(0.0, 15.0) : std::pair(0.0, 255.0);
    case Dtype::i16: return {-32768, 32767};
    case Dtype::u16: return {0, 65535};
    default: fail("quantisation to {} is not supported", name(dtype));
  }
}

/// `x` are numbers in units of the scale.
Value saturated(const Value& x, const Value& zero, Dtype dtype, bool half_byte = false) {
  const auto [low, high] = range_of(dtype, half_byte);
  const Value rounded = round(x);
  return cast(clamp(zero ? rounded + cast(zero, x.dtype()) : rounded, low, high), dtype);
}

Value offset(const Value& x, const Value& zero) {
  const Value wide = cast(x, Dtype::i32);
  return zero ? wide - cast(zero, Dtype::i32) : wide;
}

struct Parameters {
  Value scale;
  Value zero;
};

Parameters parameters(const NodeCall& call) {
  const Value& x = call.x(0);
  const int axis = call.axis("axis", 1);
  const int64_t block = call.attribute("block_size", 0);
  Parameters result{along_axis(call.x(1), x, axis, block), {}};
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
  const bool half_byte = by.zero ? call.item(2).half_byte : call.half_byte_attribute("output_dtype");
  return Item(saturated(cast(x, wide) / cast(by.scale, wide), by.zero, dtype, half_byte), half_byte);
}

Results dequantize(const NodeCall& call) {
  const Parameters by = parameters(call);
  return cast(offset(call.x(0), by.zero), by.scale.dtype()) * by.scale;
}

Results dynamic_quantize(const NodeCall& call) {
  const Value& x = call.x(0);
  const Value low = min(reduce_min(x), 0);
  const Value scale = (max(reduce_max(x), 0) - low) / 255;
  const Value step = select(eq(scale, 0), 1, scale);
  const Value zero = saturated(-low / step, {}, Dtype::u8);
  return std::vector<Value>{saturated(x / step, zero, Dtype::u8), scale, zero};
}

/// One zero point for each row of a (or each column of b) stands beside the last axis but one (or the last).
Value beside_rows(const Value& zero) { return zero && zero.rank() == 1 ? expand_dims(zero, {1}) : zero; }

Value integer_product(const Value& a, const Value& a_zero, const Value& b, const Value& b_zero) {
  return matmul(offset(a, beside_rows(a_zero)), offset(b, b_zero));
}

Results matmul_integer(const NodeCall& call) {
  return integer_product(call.x(0), call.x_or_none(2), call.x(1), call.x_or_none(3));
}

Value integer_conv(const NodeCall& call, const Value& x, const Value& x_zero, const Value& w, const Value& w_zero) {
  const Value weights = with_kernel_shape(call, w);
  const Value zero = w_zero && w_zero.rank() == 1 && w_zero.extent(0) != Extent(1)
                         ? reshape(w_zero, {w_zero.shape().axis(0), 1, 1, 1})
                         : w_zero;
  return conv(offset(x, x_zero), offset(weights, zero), conv_options(call));
}

Results conv_integer(const NodeCall& call) {
  return integer_conv(call, call.x(0), call.x_or_none(2), call.x(1), call.x_or_none(3));
}

Results quantized_matmul(const NodeCall& call) {
  const Value product = integer_product(call.x(0), call.x(2), call.x(3), call.x(5));
  const Value a_scale = beside_rows(call.x(1));
  const Value factor = a_scale * call.x(4) / call.x(6);
  return saturated(cast(product, Dtype::f32) * cast(factor, Dtype::f32), call.x(7), call.x(7).dtype());
}

Results quantized_conv(const NodeCall& call) {
  Value sums = integer_conv(call, call.x(0), call.x(2), call.x(3), call.x(5));
  if (call.has(8)) {
    sums = sums + along_channels(call.x(8), sums.rank());
  }
  const Value& w_scale = call.x(4);
  const bool each = w_scale.rank() == 1 && w_scale.extent(0) != Extent(1);
  const Value factor = call.x(1) * (each ? along_channels(w_scale, sums.rank()) : w_scale) / call.x(6);
  return saturated(cast(sums, Dtype::f32) * factor, call.x(7), call.x(7).dtype());
}

}  // namespace

std::vector<OperatorEntry> quant_operators() {
  return {
      {"", "QuantizeLinear", 10, quantize},
      {"", "DequantizeLinear", 10, dequantize},
      {"", "DynamicQuantizeLinear", 11, dynamic_quantize},
      {"", "MatMulInteger", 10, matmul_integer},
      {"", "ConvInteger", 10, conv_integer},
      {"", "QLinearMatMul", 10, quantized_matmul},
      {"", "QLinearConv", 10, quantized_conv},
      {kMicrosoft, "QuantizeLinear", 1, quantize},  // older names of the two, for more types
      {kMicrosoft, "DequantizeLinear", 1, dequantize},
  };
}

}  // namespace tenon::importer
