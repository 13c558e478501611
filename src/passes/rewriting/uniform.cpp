#include "passes/rewriting/uniform.h"

#include <cstring>

#include "ir/node.h"
#include "tenon/ops.h"

namespace tenon::passes {
namespace {

/// Constants beyond this many bytes are data, not a number written out.
constexpr size_t kLongestLook = 4096;

bool repeats_one_element(const Array& array) {
  if (array.size() == 0 || array.byte_count() > kLongestLook) {
    return false;
  }
  const size_t width = byte_size(array.dtype());
  for (size_t at = width; at < array.byte_count(); at += width) {
    if (std::memcmp(array.data(), array.data() + at, width) != 0) {
      return false;
    }
  }
  return true;
}

Array first_element(const Array& array) {
  Array result(array.dtype(), {});
  std::memcpy(result.mutable_data(), array.data(), byte_size(array.dtype()));
  return result;
}

bool only_rearranges(const Node& node) {
  return node.as<Broadcast>() != nullptr || node.as<Reshape>() != nullptr || node.as<Transpose>() != nullptr ||
         node.as<Flip>() != nullptr;
}

}  // namespace

std::optional<Value> uniform_constant(const Value& value) {
  const Node* node = &value.node();
  while (only_rearranges(*node)) {
    node = &node->inputs[0].node();
  }
  const auto* known = node->as<Constant>();
  if (known == nullptr || !repeats_one_element(known->value)) {
    return std::nullopt;
  }
  return known->value.rank() == 0 ? Value(node, 0) : constant(first_element(known->value));
}

std::optional<double> uniform_number(const Value& value) {
  const std::optional<Value> found = uniform_constant(value);
  return found ? std::optional(found->node().as<Constant>()->value.at(0)) : std::nullopt;
}

std::optional<Value> relabelled(const Value& value, const Shape& shape) {
  if (value.dtype() != shape.dtype() || value.rank() != shape.rank()) {
    return std::nullopt;
  }
  for (int i = 0; i < shape.rank(); ++i) {
    if (value.extent(i) != shape.extent(i)) {
      return std::nullopt;
    }
  }
  return reshape(value, shape.axes());
}

}  // namespace tenon::passes
