#include "schedule/nest/storage.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>
#include <unordered_set>

namespace tenon::schedule {
namespace {

/// Fewer channels do not fill vectors.
constexpr int64_t kFewestChannels = 16;

/// Whether there are enough channels to lie side by side, along an axis of the value.
bool is_image(const Value& value, int channel) {
  const auto channels = value.rank() >= 3 ? value.extent(channel).constant() : std::nullopt;
  return channels && *channels >= kFewestChannels;
}

/// Axes up to the channels of the operand are those of the result, and what comes behind is made of the operand's.
bool keeps_channels(const Node& node, int channel) {
  const Value& x = node.inputs[0];
  const Value result(&node, 0);
  const auto* broadcast = node.as<Broadcast>();
  for (int axis = 0; axis <= channel; ++axis) {
    if (axis >= result.rank() || x.extent(axis) != result.extent(axis) ||
        (broadcast && broadcast->axes[static_cast<size_t>(axis)] != axis)) {
      return false;
    }
  }
  return true;
}

/// Where the channels of an image are after an operation that takes elements as they are; nothing where they are lost.
std::optional<int> channel_after(const Node& node, int channel) {
  if (node.as<Map>() || node.as<Window>() || node.as<Concat>() || node.as<Pad>() || node.as<Slice>() ||
      node.as<Flip>()) {
    return channel;
  }
  if (node.as<Reshape>() || node.as<Broadcast>()) {
    return keeps_channels(node, channel) ? std::optional(channel) : std::nullopt;
  }
  if (const auto* transpose = node.as<Transpose>()) {
    return static_cast<int>(std::ranges::find(transpose->axes, channel) - transpose->axes.begin());
  }
  if (const auto* gather = node.as<Gather>(); gather && gather->x_batch.empty()) {
    // The axes of the positions come first.
    if (std::ranges::find(gather->axes, channel) != gather->axes.end()) {
      return std::nullopt;
    }
    const auto before = std::ranges::count_if(gather->axes, [&](int axis) { return axis < channel; });
    return node.inputs[1].rank() + channel - static_cast<int>(before);
  }
  return std::nullopt;
}

/// Kernels read what they need at any place in memory; other operations want rows.
bool reads_any_order(const Node& node) {
  return as_view(node.op) || node.as<Conv>() || node.as<Map>() || node.as<Window>() || node.as<Concat>() ||
         node.as<Contract>() || node.as<Reduce>() || node.as<Gather>();
}

/// Other constant weights are laid out by the products that read them.
bool is_grouped(const Node& node) { return node.as<Conv>() && node.as<Conv>()->groups > 1; }

std::vector<int> channels_last(int rank, int channel) {
  std::vector<int> order(static_cast<size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  std::rotate(order.begin() + channel, order.begin() + channel + 1, order.end());
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

}  // namespace

StorageOrders::StorageOrders(const Graph& graph) {
  std::unordered_set<Value> in_rows;
  for (const Output& output : graph.outputs()) {
    in_rows.insert(output.value);
  }
  std::unordered_map<Value, int> images;  // by value: the axis of its channels
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
    std::optional<int> channel = node->as<Conv>() ? std::optional(1) : std::nullopt;
    for (size_t i = 0; i < node->inputs.size() && !channel; ++i) {
      const auto image = images.find(node->inputs[i]);
      channel = image == images.end() ? std::nullopt : channel_after(*node, image->second);
    }
    if (channel && is_image(result, *channel)) {
      images.emplace(result, *channel);
    }
  }
  for (const auto& [image, channel] : images) {
    if (channel + 1 < image.rank() && !in_rows.contains(image)) {
      orders_.emplace(image, channels_last(image.rank(), channel));
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

}  // namespace tenon::schedule
