#include "passes/narrow_weights.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

#include "base/fail.h"
#include "ops/make.h"
#include "passes/rewriting/rewrite.h"
#include "passes/rewriting/weights.h"
#include "tenon/elementwise.h"
#include "tenon/ops.h"

namespace tenon::passes {
namespace {

constexpr int64_t kFewElements = 4096;  // which stay in cache anyhow
constexpr float kLargestByte = 127;
constexpr float kLargestHalf = 65504;

/// The weights of a product that take memory worth saving.
std::optional<WeightedProduct> large_product(const Node& node, float largest) {
  if (node.as<Contract>() == nullptr || node.shapes[0].dtype() != Dtype::f32) {
    return std::nullopt;
  }
  std::optional<WeightedProduct> product = as_weighted_product(Value(&node, 0));
  if (!product || product->constant().size() < kFewElements) {
    return std::nullopt;
  }
  const auto numbers = product->constant().values<float>();
  const bool in_range = std::ranges::all_of(numbers, [&](float x) { return std::abs(x) <= largest; });
  return in_range ? product : std::nullopt;
}

Graph rounded(const Graph& graph, Dtype dtype) {
  // The largest float that bf16 has is the largest f32 but for some last digits.
  const float largest = dtype == Dtype::f16 ? kLargestHalf : std::numeric_limits<float>::max() / 2;
  std::set<const Node*> weights;
  for (const Node* node : graph.nodes()) {
    if (const auto product = large_product(*node, largest)) {
      weights.insert(&node->inputs[product->weights].node());
    }
  }
  return rewrite(graph, [&](const Node& node, const std::vector<Value>&) -> std::optional<std::vector<Value>> {
    if (!weights.contains(&node)) {
      return std::nullopt;
    }
    return std::vector{cast(constant(node.as<Constant>()->value.cast(dtype)), Dtype::f32)};
  });
}

/// The elements of an array and, for each, which number of a smaller one it belongs to, whose axes are some of the
/// array's in the order of `axes`.
template <class Visit>
void for_each_column(const Array& array, const std::vector<int>& axes, const Visit& visit) {
  const std::vector<int64_t>& dims = array.dims();
  std::vector<int64_t> apart(dims.size(), 0);
  int64_t stride = 1;
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    apart[static_cast<size_t>(*axis)] = stride;
    stride *= dims[static_cast<size_t>(*axis)];
  }
  std::vector<int64_t> at(dims.size(), 0);
  int64_t column = 0;
  for (int64_t i = 0; i < array.size(); ++i) {
    visit(i, column);
    for (size_t axis = dims.size(); axis-- > 0;) {
      column += apart[axis];
      if (++at[axis] < dims[axis]) {
        break;
      }
      column -= apart[axis] * dims[axis];
      at[axis] = 0;
    }
  }
}

/// The product by bytes; what they are multiplied by comes behind it.
Value by_bytes(const WeightedProduct& product, std::vector<Value> operands) {
  const Array& weights = product.constant();
  std::vector<int> axes;  // of the weights, in the order of the result
  std::vector<int64_t> dims;
  Axes places;
  for (int i = 0; i < product.value.rank(); ++i) {
    if (const int axis = product.axis_of_weights[static_cast<size_t>(i)]; axis >= 0) {
      axes.push_back(axis);
      dims.push_back(weights.dims()[static_cast<size_t>(axis)]);
      places.push_back(i);
    }
  }
  Array scales = Array::full(Dtype::f32, dims, 0);
  Array bytes = Array::uninitialized(Dtype::i8, weights.dims());
  const auto from = weights.values<float>();
  const auto scale = scales.mutable_values<float>();
  const auto to = bytes.mutable_values<int8_t>();
  for_each_column(weights, axes, [&](int64_t i, int64_t column) {
    float& most = scale[static_cast<size_t>(column)];
    most = std::max(most, std::abs(from[static_cast<size_t>(i)]));
  });
  for (float& each : scale) {
    each = each > 0 ? std::max(each / kLargestByte, std::numeric_limits<float>::min()) : 1;
  }
  for_each_column(weights, axes, [&](int64_t i, int64_t column) {
    const float level = std::nearbyint(from[static_cast<size_t>(i)] / scale[static_cast<size_t>(column)]);
    to[static_cast<size_t>(i)] = static_cast<int8_t>(std::clamp(level, -kLargestByte, kLargestByte));
  });
  operands[product.weights] = cast(constant(std::move(bytes)), Dtype::f32);
  const Value result = make(product.value.node().op, operands);
  return result * broadcast(constant(std::move(scales)), result.shape().axes(), places);
}

/// The constant of half as many bits that a value widens, as f32; nothing for any other value.
std::optional<Value> widened_constant(const Value& value) {
  const Node& node = value.node();
  if (node.as<Map>() == nullptr || node.inputs.size() != 1 || node.inputs[0].node().as<Constant>() == nullptr) {
    return std::nullopt;
  }
  const Value& narrow = node.inputs[0];
  const bool is_half = narrow.dtype() == Dtype::bf16 || narrow.dtype() == Dtype::f16;
  if (!is_half || value != cast(narrow, Dtype::f32)) {
    return std::nullopt;
  }
  return constant(narrow.node().as<Constant>()->value.cast(Dtype::f32));
}

Graph in_bytes(const Graph& graph) {
  return rewrite(graph, [&](const Node& node, const std::vector<Value>& operands) -> std::optional<std::vector<Value>> {
    if (node.as<Contract>() == nullptr) {
      return std::nullopt;
    }
    std::vector<Value> wide = operands;
    for (Value& operand : wide) {
      operand = widened_constant(operand).value_or(operand);
    }
    const Value value = make(node.op, wide);  // with weights that were narrow already as numbers
    const auto product = large_product(value.node(), std::numeric_limits<float>::max() / 2);
    return product ? std::optional(std::vector{by_bytes(*product, wide)}) : std::nullopt;
  });
}

}  // namespace

Graph narrow_weights(const Graph& graph, Dtype dtype) {
  switch (dtype) {
    case Dtype::bf16:
    case Dtype::f16: return rounded(graph, dtype);
    case Dtype::i8: return in_bytes(graph);
    default: fail("weights are kept as bf16, f16 or i8, not as {}", name(dtype));
  }
}

}  // namespace tenon::passes
