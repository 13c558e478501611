#include "passes/narrow_weights.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

#include "base/fail.h"
#include "base/mapped_file.h"
#include "ops/axes.h"
#include "ops/builders/few_bits.h"
#include "ops/make.h"
#include "passes/rewriting/rewrite.h"
#include "passes/rewriting/weights.h"
#include "tenon/elementwise.h"
#include "tenon/ops.h"

namespace tenon::passes {
namespace {

constexpr int64_t kFewElements = 4096;  // which stay in cache anyhow
constexpr float kLargestByte = 127;
constexpr int64_t kFourBitBlock = 32;
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

/// Weights that have another form now need not be in memory twice, where they are a file's.
void release(const Array& weights) { release_clean_pages(weights.data(), weights.byte_count()); }

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
    const Array& given = node.as<Constant>()->value;
    const Value narrow = constant(given.cast(dtype));
    release(given);
    return std::vector{cast(narrow, Dtype::f32)};
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

/// A constant in blocks of four bits: the number of largest magnitude in a block is -8 times its scale, and the others
/// are rounded to -8 to 7 times it.
FewBits in_four_bits(const Array& columns) {
  const int64_t count = columns.dims()[0];
  const int64_t depth = columns.dims()[1];
  const int64_t blocks = (depth + kFourBitBlock - 1) / kFourBitBlock;
  Array bytes = Array::full(Dtype::u8, {count, blocks, kFourBitBlock / 2}, 0x88);
  Array scales = Array::full(Dtype::f32, {count, blocks}, 0);
  const auto from = columns.values<float>();
  const auto to = bytes.mutable_values<uint8_t>();
  const auto scale = scales.mutable_values<float>();
  for (int64_t column = 0; column < count; ++column) {
    for (int64_t block = 0; block < blocks; ++block) {
      const auto numbers = from.subspan(static_cast<size_t>(column * depth + block * kFourBitBlock),
                                        static_cast<size_t>(std::min(kFourBitBlock, depth - block * kFourBitBlock)));
      const float most = *std::ranges::max_element(numbers, {}, [](float x) { return std::abs(x); });
      const auto at = static_cast<size_t>(column * blocks + block);
      scale[at] = most / -8;
      for (size_t i = 0; i < numbers.size(); ++i) {
        const float level = std::abs(scale[at]) > 0 ? std::nearbyint(numbers[i] / scale[at]) : 0;
        const auto number = static_cast<uint8_t>(std::clamp(level, -8.0F, 7.0F) + 8);
        uint8_t& byte = to[at * kFourBitBlock / 2 + i / 2];
        byte = static_cast<uint8_t>(i % 2 == 0 ? (byte & 0xf0) | number : (byte & 0x0f) | number << 4);
      }
    }
  }
  return {.bits = 4, .bytes = constant(std::move(bytes)), .scales = constant(std::move(scales)), .zeros = std::nullopt};
}

/// The axes of an operand, those that are contracted last.
std::vector<int> contracted_last(int rank, const std::vector<int>& contracted) {
  std::vector<int> order = other_axes(rank, contracted);
  order.insert(order.end(), contracted.begin(), contracted.end());
  return order;
}

/// Axis i of the result is axis order[i] of the array.
Array permuted(const Array& array, const std::vector<int>& order) {
  if (std::ranges::is_sorted(order)) {
    return array;
  }
  const size_t rank = order.size();
  std::vector<int64_t> strides(rank, 1);
  for (size_t i = rank; i-- > 1;) {
    strides[i - 1] = strides[i] * array.dims()[i];
  }
  std::vector<int64_t> dims;
  std::vector<int64_t> steps;
  for (const int axis : order) {
    dims.push_back(array.dims()[static_cast<size_t>(axis)]);
    steps.push_back(strides[static_cast<size_t>(axis)]);
  }
  Array result = Array::uninitialized(Dtype::f32, dims);
  const auto from = array.values<float>();
  const auto to = result.mutable_values<float>();
  std::vector<int64_t> at(rank, 0);
  int64_t place = 0;
  for (float& each : to) {
    each = from[static_cast<size_t>(place)];
    for (size_t axis = rank; axis-- > 0;) {
      place += steps[axis];
      if (++at[axis] < dims[axis]) {
        break;
      }
      place -= steps[axis] * dims[axis];
      at[axis] = 0;
    }
  }
  return result;
}

/// The product by numbers of four bits; nothing for a batch of products, each with weights of its own.
std::optional<Value> by_four_bits(const WeightedProduct& product, const std::vector<Value>& operands) {
  const auto& contract = std::get<Contract>(product.value.node().op);
  if (!contract.lhs_batch.empty()) {
    return std::nullopt;
  }
  const bool right = product.weights == 1;
  const Value& x = operands[1 - product.weights];
  const std::vector<int>& of_weights = right ? contract.rhs_contract : contract.lhs_contract;
  const std::vector<int>& of_x = right ? contract.lhs_contract : contract.rhs_contract;
  const Array& weights = product.constant();
  int64_t depth = 1;
  for (const int axis : of_weights) {
    depth *= weights.dims()[static_cast<size_t>(axis)];
  }
  const int64_t columns = weights.size() / depth;
  const int rank = static_cast<int>(weights.dims().size());
  const Array flat = permuted(weights, contracted_last(rank, of_weights)).reshaped({columns, depth});

  const Value rows = transpose(x, contracted_last(x.rank(), of_x));
  const int free = x.rank() - static_cast<int>(of_x.size());
  std::vector<Axis> axes(rows.shape().axes().begin(), rows.shape().axes().begin() + free);
  axes.emplace_back(depth);
  const Value y = product_of_few_bits(reshape(rows, axes), in_four_bits(flat));
  // What the weights have of the result is one axis yet, the last one.
  axes.pop_back();
  const int own = product.value.rank() - free;
  for (int i = right ? free : 0; i < (right ? free : 0) + own; ++i) {
    axes.push_back(product.value.shape().axis(i));
  }
  const Value apart = reshape(y, axes);
  if (right) {
    return apart;
  }
  std::vector<int> order;
  for (int i = 0; i < product.value.rank(); ++i) {
    order.push_back(i < own ? free + i : i - own);
  }
  return transpose(apart, order);
}

Graph in_bytes(const Graph& graph, bool in_four) {
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
    if (!product) {
      return std::nullopt;
    }
    const std::optional<Value> four = in_four ? by_four_bits(*product, wide) : std::nullopt;
    std::vector result{four ? *four : by_bytes(*product, wide)};
    const Node& given = operands[product->weights].node();  // a constant, or one that is widened
    const auto* weights = given.inputs.empty() ? given.as<Constant>() : given.inputs[0].node().as<Constant>();
    if (weights != nullptr) {
      release(weights->value);
    }
    return result;
  });
}

}  // namespace

Graph narrow_weights(const Graph& graph, WeightFormat format) {
  if (format == kFourBits) {
    return in_bytes(graph, true);
  }
  switch (format.bits == 0 ? format.dtype : Dtype::boolean) {
    case Dtype::bf16:
    case Dtype::f16: return rounded(graph, format.dtype);
    case Dtype::i8: return in_bytes(graph, false);
    default: fail("weights are kept as bf16, f16, i8 or i4, not as {}", name(format.dtype));
  }
}

}  // namespace tenon::passes
