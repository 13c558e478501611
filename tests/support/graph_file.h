// Files of small graphs with what is expected of them. Cases are separated by a line `---`:
//
//   # comment
//   in   x: f32[row, col]
//        z = exp(transpose(x, [1, 0]))
//   out  z = transpose(exp(x), [1, 0])
//   ---
//   in     a: f32[batch, 64]   b: f32[80, unit]
//          c = matmul(a, b)
//   error  axis 1 of `a` is 64, axis 0 of `b` is 80
//
// `in` lists the inputs, then statements of the graph text. `out` has statements over the same inputs; the names that
// it defines and `in` defines too are the outputs of both graphs, so further names in it are just steps. Without `out`,
// the output is what the last statement defines. `error` is a part of the message of building `in`. Sections begin at
// the start of a line, their further lines are indented. Graphs to call, and `names unify`, stand before `in`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tenon/graph.h"

namespace tenon {

struct GraphCase {
  std::string name;               // file:line
  Graph graph;                    // called main; empty when building it failed
  std::optional<Graph> expected;  // what `out` describes
  std::string error;              // what `error` says
  std::string failure;            // the message of building `in`; empty when that went well
};

/// `path` is relative to the source tree. A file that is not of this form, or whose `out` cannot be built, is an Error.
std::vector<GraphCase> load_graph_cases(const std::string& path);

/// The files `folder/*.graph`, sorted; `folder` and results relative to the source tree.
std::vector<std::string> graph_files(const std::string& folder);

}  // namespace tenon
