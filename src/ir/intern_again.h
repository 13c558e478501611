// Nodes made again upon other inputs: what intern() gives, without computing again what is known of the first.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/node.h"

namespace tenon {

/// A node that others like it are made of.
class NodePattern {
 public:
  /// The node's inputs are not kept.
  explicit NodePattern(const Node& like);

  /// The node with these inputs, whose shapes are those of the first one's. Thread-safe.
  Value intern(std::vector<Value> inputs) const;

 private:
  Op op_;
  std::vector<Shape> shapes_;
  std::vector<Constraint> constraints_;
  uint64_t op_hash_ = 0;
  std::vector<uint64_t> shape_hashes_;
};

}  // namespace tenon
