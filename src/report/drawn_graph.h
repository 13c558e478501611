// What a picture shows of a lowered graph: its segments as one, and the step that each operation is drawn in.
#pragma once

#include <unordered_map>
#include <vector>

#include "compiler/lowered.h"

namespace tenon::report {

/// Whether it is a single number, or views of one: not worth a box.
bool is_number(const Node& node);

/// A view; `lowered` must outlive it. Steps count from 0, in the order of Executable::steps().
class DrawnGraph {
 public:
  explicit DrawnGraph(const compiler::Lowered& lowered) : lowered_(lowered) {}

  /// Of all segments, each once, operands before users.
  std::vector<const Node*> nodes() const;

  /// The value that an input of a segment stands for: what an earlier segment computes. Others are themselves.
  Value source(const Value& value) const;

  /// Of the graph, in its order.
  std::vector<Value> outputs() const;

  /// The step that a node is drawn in: the first that computes it; for a view, the first that reads through it. None
  /// for inputs, constants and what outputs see directly.
  std::unordered_map<const Node*, size_t> step_of() const;

 private:
  const Value& output_of(const runtime::SegmentSource& from) const;

  const compiler::Lowered& lowered_;
};

}  // namespace tenon::report
