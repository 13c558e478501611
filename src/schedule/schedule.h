// A graph becomes a program: kernels, buffers, steps.
#pragma once

#include <functional>
#include <vector>

#include "kernel/program/program.h"
#include "schedule/fuse/group.h"
#include "tenon/graph.h"

namespace tenon::schedule {

/// What is done to the body of a loop or a conditional before it is scheduled.
using OptimizeBody = std::function<Graph(const Graph& body)>;

/// A program, and what each of its steps computes: nodes of the graph, operands before users. What is cheap may be in
/// several steps; what is read through, such as a view, is in none.
struct ScheduledBody {
  Graph graph;                                     // holds the nodes
  std::vector<std::vector<const Node*>> nodes;     // of each step of the body's program
  std::vector<std::vector<ScheduledBody>> bodies;  // inside of each of these steps
};
struct Scheduled {
  Program program;
  std::vector<std::vector<const Node*>> nodes;     // of each step
  std::vector<std::vector<ScheduledBody>> bodies;  // inside of each step, in the order of bodies_of()
};

/// `graph` holds no calls (passes/inline_calls.h), or each is a step that runs its body. Operations without a loop form
/// are routines of library/, or control steps whose bodies are programs made by the same means.
Scheduled schedule_graph(const Graph& graph, const ScheduleOptions& options = {},
                         const OptimizeBody& optimize_body = {});

/// Its program alone.
Program make_program(const Graph& graph, const ScheduleOptions& options = {}, const OptimizeBody& optimize_body = {});

}  // namespace tenon::schedule
