// What a picture shows of a lowered graph: its segments as one, and the step that each operation is drawn in.
#pragma once

#include <optional>
#include <vector>

#include "compiler/lowered.h"

namespace tenon::report {

/// Whether it is a single number, or views of one: not worth a box.
bool is_number(const Node& node);

/// What is read, and which of the drawn nodes it is of.
struct DrawnValue {
  size_t from = 0;
  Value value;
};

/// An input, a constant, or an operation in a step. What several steps compute is drawn in each of them, and what no
/// step computes (a view, a concat that is written in place) in each that reads through it: an edge between two steps
/// is a value that the one stores and the other loads.
struct DrawnNode {
  const Node* node = nullptr;
  std::optional<size_t> step = {};  // from 0, in the order of Executable::steps(); none: an input, a constant, or a
                                    // view that an output sees
  std::vector<DrawnValue> operands = {};
};

/// Points into the lowered graph.
struct DrawnGraph {
  std::vector<DrawnNode> nodes;                    // operands before users; no numbers
  std::vector<std::optional<DrawnValue>> outputs;  // of the graph, in its order; none where one is a number
};
DrawnGraph drawn_graph(const compiler::Lowered& lowered);

}  // namespace tenon::report
