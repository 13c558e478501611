// Leaves of recorded graphs: inputs that carry what they stand for.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "ir/node.h"
#include "tenon/array.h"
#include "tenon/graph.h"

namespace tenon::tensors {

struct Cell;
struct LaidOut;

/// What is attached to an input node. Either its elements are known, or it stands for `definition`, through which no
/// gradient flows: that is how detached values, and tensors that want gradients, are cut off from what they come from.
struct Leaf {
  Array array = {};
  bool known = false;
  Value definition = {};
  std::weak_ptr<Cell> wants_gradient = {};              // the cell whose gradient is the one by this leaf
  std::atomic<uint32_t> runs = 0;                       // of programs with products that it was an operand of
  std::vector<std::shared_ptr<LaidOut>> versions = {};  // of programs in which it is a constant (realize/weights.h)
};

/// An input of these elements; `shape` is theirs, with names.
Value make_leaf(Array array, const Shape& shape);
/// An input that stands for `definition`.
Value make_stand_in(const Value& definition);

/// What is attached to a node that is such an input; null for others.
Leaf* leaf_of(const Node& node);

/// What a value stands for: itself, unless it is a stand-in whose elements are not known. It lives as long as the
/// value.
const Value& resolve(const Value& value);
const Value& resolve(const Value&& value) = delete;

}  // namespace tenon::tensors
