// The passes of Level 1 in order; the one place that runs, verifies and times them.
#pragma once

#include <functional>
#include <vector>

#include "tenon/compile.h"

namespace tenon::compiler {

/// The graph after all passes but those in `skip`; it holds no calls unless inline_calls was skipped.
Graph optimize(Graph graph, const CompileOptions& options, std::vector<PassRun>& runs);

/// The same for the bodies of loops and conditionals, unseen.
std::function<Graph(const Graph& body)> body_optimizer(const CompileOptions& options);

}  // namespace tenon::compiler
