// A graph becomes a program: kernels, buffers, steps.
#pragma once

#include "kernel/program.h"
#include "schedule/group.h"
#include "tenon/graph.h"

namespace tenon {

/// `graph` holds no calls (passes/inline_calls.h). Operations without a loop form become host steps that the
/// interpreter runs.
Program schedule(const Graph& graph, const GroupOptions& options = {});

}  // namespace tenon
