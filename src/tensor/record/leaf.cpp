#include "tensor/record/leaf.h"

#include "ops/make.h"

namespace tenon::tensors {
namespace {

Value attach(std::shared_ptr<Leaf> leaf, const Shape& shape) { return attached_input("t", shape, std::move(leaf)); }

}  // namespace

Value make_leaf(Array array, const Shape& shape) {
  auto leaf = std::make_shared<Leaf>();
  leaf->array = std::move(array);
  leaf->known = true;
  return attach(std::move(leaf), shape);
}

Value make_stand_in(const Value& definition) {
  auto leaf = std::make_shared<Leaf>();
  leaf->definition = definition;
  return attach(std::move(leaf), definition.shape());
}

const Value& resolve(const Value& value) {
  const Value* standing = &value;
  const Leaf* leaf = leaf_of(value.node());
  while (leaf != nullptr && !leaf->known) {
    standing = &leaf->definition;
    leaf = leaf_of(standing->node());
  }
  return *standing;
}

Leaf* leaf_of(const Node& node) {
  const auto* input = node.as<Input>();
  return input == nullptr ? nullptr : static_cast<Leaf*>(input->attached.get());
}

}  // namespace tenon::tensors
