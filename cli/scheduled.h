// A graph as the compiler leaves it, with the operations of each step.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/segments.h"
#include "tenon/compile.h"

namespace tenon::cli {

struct ScheduledStep {
  std::vector<const Node*> nodes;  // operands before users; what is cheap may be in several steps
  Extent flops;                    // of products and convolutions: two for each multiply-accumulate
};

/// Steps in the order of Executable::steps() of the same graph and options.
struct ScheduledGraph {
  SegmentedGraph parts;  // of one segment, where data decide no size
  std::vector<ScheduledStep> steps;

  /// Of all segments, each once, operands before users.
  std::vector<const Node*> nodes() const;

  /// The value that an input of a segment stands for: what an earlier segment computes. Others are themselves.
  Value source(const Value& value) const;

  /// Of the graph, in its order.
  std::vector<Value> outputs() const;

  /// The step that a node is drawn in: the first that computes it; for a view, the first that reads through it. None
  /// for inputs, constants and what outputs see directly.
  std::unordered_map<const Node*, size_t> step_of() const;
};

ScheduledGraph scheduled(const Graph& graph, const CompileOptions& options);

}  // namespace tenon::cli
