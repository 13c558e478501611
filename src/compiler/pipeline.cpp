#include "compiler/pipeline.h"

#include <algorithm>

#include "base/fail.h"
#include "compiler/stopwatch.h"
#include "ir/data_axes.h"
#include "ops/keep_binders.h"
#include "passes/inline_calls.h"
#include "passes/narrow_products.h"
#include "passes/narrow_weights.h"
#include "passes/table.h"

namespace tenon {
namespace compiler {
namespace {

// Views move and constants fold before patterns are looked for; what no kernel claims whole is inlined before grouping.
constexpr std::string_view kPipeline[] = {
    "canonicalize",         "fold_constants", "simplify",      "fold_views",    "simplify",    "fold_batch_norm",
    "recognize_composites", "inline_calls",   "spread_inputs", "lower_updates", "merge_loops", "simplify",
    "fold_constants",       "sink_constants",
};

/// What every pass must keep: the signature of the graph.
void verify(const Graph& before, const Graph& after, std::string_view pass) {
  TENON_CHECK(before.inputs().size() == after.inputs().size() && before.outputs().size() == after.outputs().size(),
              "{} changed the number of inputs or outputs", pass);
  for (size_t i = 0; i < before.outputs().size(); ++i) {
    const Output& x = before.outputs()[i];
    const Output& y = after.outputs()[i];
    TENON_CHECK(x.name == y.name && x.aliases == y.aliases && x.value.dtype() == y.value.dtype() &&
                    x.value.rank() == y.value.rank(),
                "{} changed output `{}` from {} to {}", pass, x.name, x.value.shape().to_string(),
                y.value.shape().to_string());
  }
}

/// A pass may find that a value is not needed whose size is.
Graph with_binders(const Graph& before, Graph after) {
  std::vector<Value> made;
  for (const auto& [name, node] : binders(before.nodes())) {
    made.emplace_back(node, 0);
  }
  if (made.empty()) {
    return after;
  }
  std::vector<Output> outputs = after.outputs();
  keep_binders(outputs, after.relations(), made);
  return {after.name(), after.inputs(), std::move(outputs), after.relations()};
}

}  // namespace

Graph optimize(Graph graph, const CompileOptions& options, std::vector<PassRun>& runs) {
  for (const std::string& name : options.skip) {
    if (std::ranges::find(kPipeline, name) == std::end(kPipeline)) {
      fail("there is no pass called `{}` to skip; there is: {}", name, fmt::join(kPipeline, ", "));
    }
  }
  const auto run = [&](std::string_view name, const std::function<Graph(const Graph&)>& pass) {
    const Stopwatch watch;
    Graph after = pass(graph);
    const double took = watch.milliseconds();
    verify(graph, after, name);
    after = with_binders(graph, std::move(after));
    runs.push_back({.name = std::string(name), .changed = !(after == graph), .milliseconds = took, .after = after});
    if (options.on_pass) {
      options.on_pass(runs.back());
    }
    graph = std::move(after);
  };
  for (const std::string_view name : kPipeline) {
    if (std::ranges::find(options.skip, name) == options.skip.end()) {
      // A GPU runs no routines itself.
      const bool is_whole = name == "inline_calls" && options.machine.is_gpu();
      run(name, is_whole ? passes::inline_calls : passes::find_pass(name).run);
    }
  }
  // Behind all that would fold what widens them.
  if (options.weights) {
    run("narrow_weights", [&](const Graph& whole) {
      Graph narrow = passes::narrow_weights(whole, *options.weights);
      return options.machine.is_gpu() ? passes::inline_calls(std::move(narrow)) : narrow;
    });
  }
  if (options.precision != Precision::f32) {
    run("narrow_products", [&](const Graph& whole) { return passes::narrow_products(whole, options.precision); });
  }
  return graph;
}

std::function<Graph(const Graph& body)> body_optimizer(const CompileOptions& options) {
  return [skip = options.skip, weights = options.weights, precision = options.precision,
          machine = options.machine](const Graph& body) {
    std::vector<PassRun> unseen;
    CompileOptions quiet;
    quiet.skip = skip;
    quiet.weights = weights;
    quiet.precision = precision;
    quiet.machine = machine;
    return optimize(body, quiet, unseen);
  };
}

}  // namespace compiler

std::vector<std::string> compile_passes() { return {std::begin(compiler::kPipeline), std::end(compiler::kPipeline)}; }

}  // namespace tenon
