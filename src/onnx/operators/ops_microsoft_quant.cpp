// Quantised operators of the domain com.microsoft, as ONNX Runtime's quantiser and optimiser write them.
#include "base/refused.h"
#include "onnx/import/registry.h"
#include "onnx/operators/heads.h"
#include "onnx/operators/quantised.h"
#include "onnx/operators/quantised_product.h"
#include "onnx/operators/sliding_attributes.h"
#include "tenon/convolution.h"
#include "tenon/nn.h"

namespace tenon::importer {
namespace {

/// Operand `i` with the scale and the zero point behind it, as numbers.
Value real(const NodeCall& call, size_t i) {
  const Value integers = offset(call.x(i), call.x_or_none(i + 2));
  return cast(integers, Dtype::f32) * call.x(i + 1);
}

/// Numbers by the scale and the zero point that are operands `i` and `i + 1`, of the dtype of `like`.
Value requantised(const NodeCall& call, const Value& x, size_t i, const Value& like) {
  const Value zero = call.x_or_none(i + 1);
  return saturated(x / call.x(i), zero, zero ? zero.dtype() : like.dtype());
}

Importing of_two(Value (*operation)(const Value&, const Value&)) {
  return [operation](const NodeCall& call) -> Results {
    return requantised(call, operation(real(call, 0), real(call, 3)), 6, call.x(0));
  };
}

Results leaky_relu_of(const NodeCall& call) {
  const Value x = real(call, 0);
  return requantised(call, select(lt(x, 0), x * call.number_attribute("alpha", 0.01), x), 3, call.x(0));
}

Results sigmoid_of(const NodeCall& call) { return requantised(call, sigmoid(real(call, 0)), 3, call.x(0)); }

/// Before opset 13, which an attribute says, it saw a matrix: all axes before `axis`, and all from it on.
Results softmax_of_bytes(const NodeCall& call) {
  const Value x = real(call, 0);
  if (call.attribute("opset", 13) >= 13) {
    return requantised(call, softmax(x, call.axis("axis", -1)), 3, call.x(0));
  }
  const int axis = x.shape().normalize_axis(call.axis("axis", 1));
  Extent before = 1;
  Extent behind = 1;
  for (int i = 0; i < x.rank(); ++i) {
    (i < axis ? before : behind) *= x.extent(i);
  }
  const Value rows = softmax(reshape(x, {before, behind}), -1);
  return requantised(call, reshape(rows, x.shape().axes()), 3, call.x(0));
}

Results concat_of(const NodeCall& call) {
  std::vector<Value> parts;
  for (size_t i = 2; i + 2 < call.count(); i += 3) {
    parts.push_back(real(call, i));
  }
  return requantised(call, concat(parts, call.axis("axis", 0)), 0, call.x(2));
}

Results where_of(const NodeCall& call) {
  return requantised(call, select(call.x(0), real(call, 1), real(call, 4)), 7, call.x(1));
}

Results reduce_mean_of(const NodeCall& call) {
  const Axes axes = to_axes(call.list_attribute("axes"));
  return requantised(call, reduce_mean(real(call, 0), axes, call.flag("keepdims", true)), 3, call.x(0));
}

Results global_average_of(const NodeCall& call) {
  const bool last = call.flag("channels_last");
  const Value x = last ? channels_second(real(call, 0)) : real(call, 0);
  Axes positions;
  for (int i = 2; i < x.rank(); ++i) {
    positions.push_back(i);
  }
  const Value mean = reduce_mean(x, positions, true);
  return requantised(call, last ? channels_last(mean) : mean, 3, call.x(0));
}

Results average_of(const NodeCall& call) {
  const bool last = call.flag("channels_last");
  const Value x = last ? channels_second(real(call, 0)) : real(call, 0);
  PoolOptions options = pool_options(call, static_cast<size_t>(x.rank() - 2));
  options.count_include_pad = call.flag("count_include_pad");
  const Value mean = average_pool(x, call.list_attribute("kernel_shape"), options);
  return requantised(call, last ? channels_last(mean) : mean, 3, call.x(0));
}

Results max_pool_last(const NodeCall& call) {
  const Value x = channels_second(call.x(0));
  return channels_last(
      max_pool(x, call.list_attribute("kernel_shape"), pool_options(call, static_cast<size_t>(x.rank() - 2))));
}

/// Sums of integers times both scales, with a bias.
Value scaled_product(const NodeCall& call, const DynamicQuantised& a, const Value& b, const Value& b_scale,
                     const Value& b_zero, const Value& bias) {
  const Value sums = integer_product(call, a.x, a.zero, b, b_zero);
  const Value y = cast(sums, a.scale.dtype()) * (beside_rows(a.scale) * b_scale);
  return bias ? y + bias : y;
}

Results integer_to_float(const NodeCall& call) {
  return scaled_product(call, {call.x(0), call.x(2), call.x_or_none(4)}, call.x(1), call.x(3), call.x_or_none(5),
                        call.x_or_none(6));
}

Results dynamic_matmul(const NodeCall& call) {
  return scaled_product(call, quantised_by_range(call.x(0)), call.x(1), call.x(2), call.x_or_none(3),
                        call.x_or_none(4));
}

Results gemm_of(const NodeCall& call) {
  const Value a = call.flag("transA") ? transpose(call.x(0), {1, 0}) : call.x(0);
  const Value b = call.flag("transB") ? transpose(call.x(3), {1, 0}) : call.x(3);
  Value sums = integer_product(call, a, call.x_or_none(2), b, call.x_or_none(5));
  if (call.has(6)) {
    sums = sums + call.x(6);
  }
  const Value y = cast(sums, Dtype::f32) * (call.x(1) * call.x(4)) * call.number_attribute("alpha", 1);
  return call.has(7) ? requantised(call, y, 7, call.x(0)) : y;
}

/// The bidirectional mask of keys that count: a vector of lengths or a matrix of 0 and 1.
Value mask_of_keys(const Value& mask, const Extent& batch, const Extent& keys) {
  require_rank(mask, 1, 2, "the mask");
  if (mask.rank() == 2) {
    return expand_dims(ne(mask, 0), {1, 2});
  }
  const Value length = reshape(cast(mask, Dtype::i64), {batch, 1, 1, 1});
  return lt(iota(shape(Dtype::i64, 1, 1, 1, keys), 3), length);
}

Results attention_of_integers(const NodeCall& call) {
  if (call.has(8)) {
    refuse("a past of QAttention is not supported");
  }
  const int64_t heads = call.count_attribute("num_heads");
  const Value all = scaled_product(call, {call.x(0), call.x(3), call.x_or_none(6)}, call.x(1), call.x(4),
                                   call.x_or_none(7), call.x(2));
  const Extent width = floordiv(all.extent(2), 3);
  const auto part = [&](int64_t i) { return to_heads(slice_axis(all, 2, width * i, width * (i + 1)), heads); };
  const Value mask = call.has(5) ? mask_of_keys(call.x(5), all.extent(0), all.extent(1)) : Value();
  return from_heads(attention(part(0), part(1), part(2), {.mask = mask, .causal = call.flag("unidirectional")}));
}

/// Words, positions and segments, added and normalised.
Results embeddings(const NodeCall& call) {
  const Value& ids = call.x(0);
  const Value rows = call.has(8) ? call.x(8) : iota(shape(Dtype::i64, 1, ids.extent(1)), 1);
  Value sum = take(call.x(2), ids) + take(call.x(3), rows);
  if (call.has(1) && call.has(4)) {
    sum = sum + take(call.x(4), call.x(1));
  }
  const Value y = layer_norm(sum, call.x(5), call.x(6), {-1}, call.number_attribute("epsilon", 1e-12));
  const Value lengths =
      call.has(7) ? reduce_sum(cast(call.x(7), Dtype::i32), {1}) : full(shape(Dtype::i32, ids.extent(0)), 0);
  return std::vector<Value>{y, lengths, sum};
}

}  // namespace

std::vector<OperatorEntry> microsoft_quant_operators() {
  const auto sum = [](const Value& a, const Value& b) { return a + b; };
  const auto product = [](const Value& a, const Value& b) { return a * b; };
  return {
      {kMicrosoft, "QLinearAdd", 1, of_two(sum)},
      {kMicrosoft, "QLinearMul", 1, of_two(product)},
      {kMicrosoft, "QLinearLeakyRelu", 1, leaky_relu_of},
      {kMicrosoft, "QLinearSigmoid", 1, sigmoid_of},
      {kMicrosoft, "QLinearSoftmax", 1, softmax_of_bytes},
      {kMicrosoft, "QLinearConcat", 1, concat_of},
      {kMicrosoft, "QLinearWhere", 1, where_of},
      {kMicrosoft, "QLinearReduceMean", 1, reduce_mean_of},
      {kMicrosoft, "QLinearGlobalAveragePool", 1, global_average_of},
      {kMicrosoft, "QLinearAveragePool", 1, average_of},
      {kMicrosoft, "NhwcMaxPool", 1, max_pool_last},
      {kMicrosoft, "MatMulIntegerToFloat", 1, integer_to_float},
      {kMicrosoft, "DynamicQuantizeMatMul", 1, dynamic_matmul},
      {kMicrosoft, "QGemm", 1, gemm_of},
      {kMicrosoft, "QAttention", 1, attention_of_integers},
      {kMicrosoft, "EmbedLayerNormalization", 1, embeddings},
  };
}

}  // namespace tenon::importer
