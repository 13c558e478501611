// Nodes made again upon other inputs: what intern() gives, without computing again what is known of the first.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/node.h"

namespace tenon {

/// A node that others like it are made of.
class NodePattern {
 public:
  explicit NodePattern(Value like);

  const Node& node() const { return like_.node(); }
  /// The node with these inputs, whose shapes are those of the first one's. Thread-safe.
  Value intern(std::vector<Value> inputs) const;

 private:
  Value like_;
  uint64_t operation_ = 0;  // hashes
  std::vector<uint64_t> shapes_;
};

}  // namespace tenon
