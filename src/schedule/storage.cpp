#include "schedule/storage.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <unordered_set>

namespace tenon {
namespace {

/// Fewer channels do not fill vectors.
constexpr int64_t kFewestChannels = 16;

/// [batch, channel, position...] with enough channels.
bool is_image(const Value& value) {
  const auto channels = value.rank() >= 3 ? value.extent(1).constant() : std::nullopt;
  return channels && *channels >= kFewestChannels;
}

/// Batch and channels of the result are those of the operand, and its positions are made of the operand's alone.
bool keeps_channels(const Node& node) {
  const Value& x = node.inputs[0];
  const Value result(&node, 0);
  if (x.rank() < 2 || result.rank() < 2 || x.extent(0) != result.extent(0) || x.extent(1) != result.extent(1)) {
    return false;
  }
  const auto* broadcast = node.as<Broadcast>();
  return node.as<Reshape>() || (broadcast && broadcast->axes[0] == 0 && broadcast->axes[1] == 1);
}

/// Operations that leave batch and channels in their places.
bool keeps_axes(const Node& node) {
  return node.as<Map>() || node.as<Window>() || node.as<Concat>() || node.as<Pad>() || node.as<Slice>() ||
         ((node.as<Reshape>() || node.as<Broadcast>()) && keeps_channels(node));
}

/// Weights that are given with each run would have to be turned in each.
bool has_constant_weights(const Node& node) { return node.as<Conv>() && node.inputs[1].node().as<Constant>(); }

/// Kernels read what they need at any place in memory; other operations want rows.
bool reads_any_order(const Node& node) {
  return keeps_axes(node) || as_view(node.op) || has_constant_weights(node) || node.as<Contract>() ||
         node.as<Reduce>() || node.as<Gather>();
}

/// Other constant weights are laid out by the products that read them.
bool is_grouped(const Node& node) { return node.as<Conv>() && node.as<Conv>()->groups > 1; }

std::vector<int> channels_last(int rank) {
  std::vector<int> order(static_cast<size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  return order;
}

/// Of weights: positions, channels, then the channels of the result.
std::vector<int> outputs_last(int rank) {
  std::vector<int> order;
  for (int axis = 2; axis < rank; ++axis) {
    order.push_back(axis);
  }
  order.insert(order.end(), {1, 0});
  return order;
}

/// Element after element in the order of `dims`, the last of them fastest; strides are those of `from`.
template <class Element>
void copy_in_order(const std::byte* from, const std::vector<int64_t>& dims, const std::vector<int64_t>& strides,
                   std::byte* to, size_t axis = 0) {
  if (axis == dims.size()) {
    std::memcpy(to, from, sizeof(Element));
    return;
  }
  int64_t inner = 1;
  for (size_t i = axis + 1; i < dims.size(); ++i) {
    inner *= dims[i];
  }
  const auto bytes = static_cast<int64_t>(sizeof(Element));
  for (int64_t i = 0; i < dims[axis]; ++i) {
    if (inner == 1) {
      std::memcpy(to + i * bytes, from + i * strides[axis] * bytes, sizeof(Element));
    } else {
      copy_in_order<Element>(from + i * strides[axis] * bytes, dims, strides, to + i * inner * bytes, axis + 1);
    }
  }
}

}  // namespace

Array in_storage_order(const Array& x, const std::vector<int>& order) {
  std::vector<int64_t> dims;
  std::vector<int64_t> strides;
  for (const int axis : order) {
    int64_t stride = 1;
    for (size_t i = static_cast<size_t>(axis) + 1; i < x.dims().size(); ++i) {
      stride *= x.dims()[i];
    }
    dims.push_back(x.dims()[static_cast<size_t>(axis)]);
    strides.push_back(stride);
  }
  Array result = Array::uninitialized(x.dtype(), dims);
  const std::byte* const from = x.data();
  std::byte* const to = result.mutable_data();
  switch (byte_size(x.dtype())) {
    case 1: copy_in_order<uint8_t>(from, dims, strides, to); break;
    case 2: copy_in_order<uint16_t>(from, dims, strides, to); break;
    case 4: copy_in_order<uint32_t>(from, dims, strides, to); break;
    default: copy_in_order<uint64_t>(from, dims, strides, to); break;
  }
  return result;
}

StorageOrders::StorageOrders(const Graph& graph) {
  std::unordered_set<Value> in_rows;
  for (const Output& output : graph.outputs()) {
    in_rows.insert(output.value);
  }
  std::unordered_set<Value> images;
  std::unordered_set<Value> weights;
  for (const Node* node : graph.nodes()) {
    for (size_t i = 0; i < node->inputs.size(); ++i) {
      const Value& operand = node->inputs[i];
      if (!reads_any_order(*node)) {
        in_rows.insert(operand);
      }
      if (operand.node().as<Constant>()) {
        is_grouped(*node) && i == 1 ? weights.insert(operand) : in_rows.insert(operand);
      }
    }
    const Value result(node, 0);
    const bool is_made =
        has_constant_weights(*node) ||
        (keeps_axes(*node) && std::ranges::any_of(node->inputs, [&](const Value& v) { return images.contains(v); }));
    if (is_made && is_image(result)) {
      images.insert(result);
    }
  }
  for (const Value& image : images) {
    if (!in_rows.contains(image)) {
      orders_.emplace(image, channels_last(image.rank()));
    }
  }
  for (const Value& weight : weights) {
    if (!in_rows.contains(weight)) {
      orders_.emplace(weight, outputs_last(weight.rank()));
    }
  }
}

const std::vector<int>* StorageOrders::of(const Value& value) const {
  const auto found = orders_.find(value);
  return found == orders_.end() ? nullptr : &found->second;
}

}  // namespace tenon
