// Products: matrices, index notation, convolutions.
#include <algorithm>

#include "base/refused.h"
#include "onnx/import/few_bits_source.h"
#include "onnx/import/registry.h"
#include "onnx/operators/quantised_product.h"
#include "onnx/operators/sliding_attributes.h"
#include "tenon/convolution.h"
#include "tenon/einsum.h"
#include "tenon/indexing.h"

namespace tenon::importer {
namespace {

Results matmul_of(const NodeCall& call) {
  if (const auto of_integers = dequantised_product(call, call.item(0), call.item(1), false)) {
    return *of_integers;
  }
  const std::optional<Value> of_few_bits = few_bits_product(call, call.x(0), call.item(1), false);
  return of_few_bits ? *of_few_bits : matmul(call.x(0), call.x(1));
}

/// Multiplied by a number, unless it is one.
Value scaled(const Value& x, double factor) {
  if (factor == 1) {
    return x;
  }
  return is_float(x.dtype()) ? x * factor : cast(cast(x, Dtype::f64) * factor, x.dtype());
}

Value gemm_product(const NodeCall& call) {
  const Value a = call.flag("transA") ? transpose(call.x(0)) : call.x(0);
  const Value b = call.flag("transB") ? transpose(call.x(1)) : call.x(1);
  std::optional<Value> narrow =
      call.flag("transA") ? std::nullopt : dequantised_product(call, call.item(0), call.item(1), call.flag("transB"));
  if (!narrow) {
    narrow = few_bits_product(call, a, call.item(1), call.flag("transB"));
  }
  const Value product = scaled(narrow ? *narrow : matmul(a, b), call.number_attribute("alpha", 1));
  const double beta = call.number_attribute("beta", 1);
  if (!call.has(2) || beta == 0) {
    return product;
  }
  const Value& c = call.x(2);
  for (int axis = 1; axis <= std::min(2, c.rank()); ++axis) {  // repeated for the product, which never is for it
    if (c.extent(-axis).constant().value_or(1) != 1) {
      call.require_size(c, -axis, product.extent(-axis), "C");
    }
  }
  return product + scaled(c, beta);
}

Results einsum_of(const NodeCall& call) {
  std::string equation = call.text_attribute("equation", "");
  std::erase(equation, ' ');
  return einsum(equation, call.tensors());
}

/// With a bias for each channel, where there is one.
Value with_bias(const NodeCall& call, const Value& y) {
  if (!call.has(2)) {
    return y;
  }
  call.require_size(call.x(2), 0, y.extent(1), "B");
  return y + along_channels(call.x(2), y.rank());
}

Value convolved(const NodeCall& call) {
  const std::optional<Value> of_integers = dequantised_conv(call, call.item(0), call.item(1));
  const Value y = of_integers ? *of_integers : conv(call.x(0), with_kernel_shape(call, call.x(1)), conv_options(call));
  return with_bias(call, y);
}

Results gemm(const NodeCall& call) { return gemm_product(call); }
Results convolution(const NodeCall& call) { return convolved(call); }

/// What ONNX Runtime's optimiser has put behind a product.
Value activated(const NodeCall& call, const Value& x, const std::vector<double>& numbers) {
  const auto number = [&](size_t i, double otherwise) { return i < numbers.size() ? numbers[i] : otherwise; };
  const std::string function = call.text_attribute("activation", "");
  if (function.empty()) return x;
  if (function == "Relu") return relu(x);
  if (function == "LeakyRelu") return leaky_relu(x, number(0, 0.01));
  if (function == "Sigmoid") return sigmoid(x);
  if (function == "Tanh") return tanh(x);
  if (function == "HardSigmoid") return hard_sigmoid(x, number(0, 0.2), number(1, 0.5));
  if (function == "Clip" && numbers.size() == 2) return min(max(x, numbers[0]), numbers[1]);
  refuse("activation `{}` is not supported; Relu, LeakyRelu, Sigmoid, Tanh, HardSigmoid and Clip are", function);
}

Results fused_convolution(const NodeCall& call) {
  const Value y = convolved(call);
  return activated(call, call.has(3) ? y + call.x(3) : y, call.numbers_attribute("activation_params"));
}

Results fused_gemm(const NodeCall& call) {
  std::vector<double> numbers;
  for (const char* const name : {"activation_alpha", "activation_beta"}) {
    if (call.has_attribute(name)) {
      numbers.push_back(call.number_attribute(name, 0));
    }
  }
  return activated(call, gemm_product(call), numbers);
}

/// What an attribute gives for position axis `i`.
template <class T>
Extent entry(const std::vector<T>& list, size_t i, int64_t otherwise) {
  return list.empty() ? Extent(otherwise) : Extent(list.at(i));
}

/// Positions behind the last that a kernel reaches tell apart sizes that a convolution rounds to one: fewer than a
/// step.
void require_less_than_a_step(const NodeCall& call, const Extent& more, const ConvTransposeOptions& options, size_t i,
                              std::string_view what) {
  const Extent step = max(entry(options.stride, i, 1), entry(options.dilation, i, 1));
  if (proves_at_least(more, step)) {
    refuse("{} {} more along axis {} than kernels reach, must be fewer than {}, the larger of stride and dilation",
           what, more.to_string(), i + 2, step.to_string());
  }
  call.require_at_least(step - 1, more, what);
}

/// The padding that makes a result of the size asked for: all that is more is cropped.
void pad_to_shape(const NodeCall& call, const Value& x, const Value& w, ConvTransposeOptions& options) {
  const std::vector<int64_t> wanted = call.list_attribute("output_shape");
  const std::string rule = call.text_attribute("auto_pad", "NOTSET");
  const auto count = static_cast<size_t>(x.rank() - 2);
  if (wanted.empty() && rule != "SAME_UPPER" && rule != "SAME_LOWER") {
    return;
  }
  if ((!wanted.empty() && wanted.size() < count) || w.rank() != x.rank()) {
    refuse("output_shape or the weights do not fit an input of {} axes", x.rank());
  }
  options.low.clear();
  options.high.clear();
  for (size_t i = 0; i < count; ++i) {
    const int axis = static_cast<int>(i) + 2;
    const Extent stride = entry(options.stride, i, 1);
    const Extent span = (w.extent(axis) - 1) * entry(options.dilation, i, 1) + 1;
    const Extent size = wanted.empty() ? x.extent(axis) * stride : Extent(wanted.at(wanted.size() - count + i));
    const Extent total = stride * (x.extent(axis) - 1) + entry(options.output_padding, i, 0) + span - size;
    require_less_than_a_step(call, -total, options, i, "output_shape asks for");
    const Extent half = floordiv(total, 2);
    const Extent low = rule == "SAME_UPPER" ? half : rule == "SAME_LOWER" ? total - half : max(total - half, 0);
    options.low.push_back(low);
    options.high.push_back(total - low);
  }
}

Results convolution_transpose(const NodeCall& call) {
  const Value& x = call.x(0);
  const Value w = with_kernel_shape(call, call.x(1));
  SlidingAttributes sliding = sliding_attributes(call);
  const std::vector<int64_t> extra = call.list_attribute("output_padding");
  ConvTransposeOptions options{.stride = std::move(sliding.stride),
                               .dilation = std::move(sliding.dilation),
                               .low = std::move(sliding.low),
                               .high = std::move(sliding.high),
                               .output_padding = {extra.begin(), extra.end()},
                               .groups = call.attribute("group", 1)};
  if (!extra.empty() && static_cast<int>(extra.size()) + 2 != x.rank()) {
    refuse("output_padding is given for {} axes, the input has {} behind the channels", extra.size(), x.rank() - 2);
  }
  for (size_t i = 0; i < extra.size(); ++i) {
    if (extra[i] < 0) {
      refuse("output_padding is {} along axis {}, must not be negative", extra[i], i + 2);
    }
    require_less_than_a_step(call, extra[i], options, i, "output_padding asks for");
  }
  pad_to_shape(call, x, w, options);
  const Value y = conv_transpose(x, w, options);
  return with_bias(call, y);
}

/// By expansion along the first row; `columns` are those that are left.
Value determinant(const std::vector<std::vector<Value>>& rows, size_t row, const std::vector<size_t>& columns) {
  if (columns.size() == 1) {
    return rows[row][columns[0]];
  }
  Value sum;
  for (size_t i = 0; i < columns.size(); ++i) {
    std::vector<size_t> rest = columns;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
    const Value term = rows[row][columns[i]] * determinant(rows, row + 1, rest);
    sum = i == 0 ? term : i % 2 == 0 ? sum + term : sum - term;
  }
  return sum;
}

Results det(const NodeCall& call) {
  constexpr int64_t largest = 4;
  const Value& x = call.x(0);
  const std::optional<int64_t> size = x.rank() < 2 ? std::nullopt : x.extent(-1).constant();
  if (!size || *size < 1 || *size > largest || x.extent(-2) != x.extent(-1)) {
    refuse("determinants are supported for square matrices of up to {} known rows, not {}", largest,
           x.shape().to_string());
  }
  std::vector<std::vector<Value>> rows;
  std::vector<size_t> columns;
  for (const Value& row : unstack(x, -2)) {
    columns.push_back(columns.size());
    rows.push_back(unstack(row, -1));
  }
  return determinant(rows, 0, columns);
}

}  // namespace

std::vector<OperatorEntry> product_operators() {
  return {
      {"", "MatMul", 1, matmul_of},
      {"", "Gemm", 1, gemm},
      {"", "Einsum", 12, einsum_of},
      {"", "Conv", 1, convolution},
      {"", "Det", 11, det},
      {"", "ConvTranspose", 1, convolution_transpose},
      {kMicrosoft, "FusedConv", 1, fused_convolution},
      {kMicrosoft, "FusedGemm", 1, fused_gemm},
  };
}

}  // namespace tenon::importer
