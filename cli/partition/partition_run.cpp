#include "cli/partition/partition_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "base/fail.h"
#include "cli/bench/rounding.h"
#include "cli/models/stateful_run.h"
#include "cli/print/stopwatch.h"
#include "cli/print/terminal.h"
#include "cli/print/units.h"
#include "cli/words/inputs.h"
#include "ir/node.h"
#include "passes/rewriting/rewrite.h"
#include "report/steps.h"
#include "tenon/tenon.h"

namespace tenon::cli {
namespace {

using partition::Plan;
using Arrays = std::map<std::string, Array, std::less<>>;

/// Whether a size of the graph depends on the name: of a value, or of an operation, such as where a slice begins.
bool depends_on(const Graph& graph, const std::string& name) {
  const passes::Substitution other{{name, Extent::name(name + "'")}};
  return std::ranges::any_of(graph.nodes(), [&](const Node* node) {
    const auto changes = [&](const Shape& shape) { return shape.substitute(other) != shape; };
    return std::ranges::any_of(node->shapes, changes) || !same_structure(passes::substitute(node->op, other), node->op);
  });
}

/// Sizes for names that the graph has: others are an Error of the run.
Bindings only_names(const Bindings& all, const Graph& graph) {
  Bindings result;
  for (const auto& [name, size] : all) {
    if (depends_on(graph, name)) {
      result.set(name, size);
    }
  }
  return result;
}

/// One part, compiled: takes what it reads from `arrays` and leaves there what it gives.
PartRun run_part(const Graph& graph, const Bindings& bindings, Arrays& arrays, size_t repeats) {
  std::vector<Array> inputs;
  for (const Value& value : graph.inputs()) {
    inputs.push_back(arrays.at(value.node().as<Input>()->name));
  }
  const Executable executable = compile(graph);
  const RunOptions options{.bindings = only_names(bindings, graph)};
  std::vector<Array> outputs = executable.run(inputs, options);
  PartRun run;
  if (repeats > 0) {
    constexpr double budget = 30'000;  // short parts run often: neighbours on the machine disturb some of the runs
    run.microseconds = sample([&] { executable.run(inputs, options); }, repeats, budget).least();
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    arrays.insert_or_assign(graph.outputs()[i].name, std::move(outputs[i]));
  }
  return run;
}

double relative_difference(const Array& got, const Array& wanted) {
  double largest = 0;
  double scale = 0;
  for (int64_t i = 0; i < got.size(); ++i) {
    const double a = got.at(i);
    const double b = wanted.at(i);
    if (a == b || (std::isnan(a) && std::isnan(b))) {
      scale = std::isfinite(b) ? std::max(scale, std::fabs(b)) : scale;
      continue;
    }
    if (!std::isfinite(a) || !std::isfinite(b)) {
      return std::numeric_limits<double>::infinity();
    }
    largest = std::max(largest, std::fabs(a - b));
    scale = std::max(scale, std::fabs(b));
  }
  return largest == 0 ? 0 : largest / scale;
}

/// Spearman's: of ranks, where equal values share the mean of theirs.
std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {}, [&](size_t i) { return values[i]; });
  std::vector<double> result(values.size());
  for (size_t i = 0; i < order.size();) {
    size_t end = i;
    while (end < order.size() && values[order[end]] == values[order[i]]) {
      ++end;
    }
    for (size_t k = i; k < end; ++k) {
      result[order[k]] = static_cast<double>(i + end - 1) / 2;
    }
    i = end;
  }
  return result;
}

double correlation(const std::vector<double>& x, const std::vector<double>& y) {
  const auto n = static_cast<double>(x.size());
  const double mean_x = std::accumulate(x.begin(), x.end(), 0.0) / n;
  const double mean_y = std::accumulate(y.begin(), y.end(), 0.0) / n;
  double xy = 0;
  double xx = 0;
  double yy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean_x) * (y[i] - mean_y);
    xx += (x[i] - mean_x) * (x[i] - mean_x);
    yy += (y[i] - mean_y) * (y[i] - mean_y);
  }
  return xx * yy > 0 ? xy / std::sqrt(xx * yy) : 1;
}

/// An output that is a view of an input, or known: no part computes it.
Array output_alone(const Graph& graph, const Output& output, const std::vector<Array>& inputs,
                   const Bindings& bindings) {
  return interpret(Graph(graph.name(), graph.inputs(), {{.name = output.name, .value = output.value}}), inputs,
                   {.bindings = bindings})[0];
}

}  // namespace

std::vector<OutputMatch> match_outputs(const Graph& graph, const std::vector<Array>& got,
                                       const std::vector<Array>& wanted, const Bindings& bindings) {
  const std::vector<double> bounds = rounding_bounds(graph, bindings);
  std::vector<OutputMatch> result;
  for (size_t i = 0; i < wanted.size(); ++i) {
    result.push_back({.name = graph.outputs()[i].name,
                      .same_bits = same_bits(got[i], wanted[i]),
                      .relative = relative_difference(got[i], wanted[i]),
                      .tolerance = bounds[i]});
  }
  return result;
}

std::string matches_text(const std::vector<OutputMatch>& outputs) {
  std::string text;
  for (const OutputMatch& each : outputs) {
    text += fmt::format(
        "  output {}: {}\n", each.name,
        each.same_bits ? green("equal to the whole by bits")
        : each.ok()
            ? green(fmt::format("equal to the whole up to rounding ({:.1e} of the largest element)", each.relative))
            : red(fmt::format("differs from the whole by {:.1e} of the largest element", each.relative)));
  }
  return text;
}

Json matches_json(const std::vector<OutputMatch>& outputs) {
  Json result = Json::array();
  for (const OutputMatch& each : outputs) {
    result.push(Json::object()
                    .set("output", each.name)
                    .set("ok", each.ok())
                    .set("same_bits", each.same_bits)
                    .set("relative_error", each.relative)
                    .set("tolerance", each.tolerance));
  }
  return result;
}

PlanRun run_plan(const PartitionModel& model, const Plan& plan, size_t repeats) {
  const Progress progress;
  progress.show("running the whole");
  const PreparedInputs prepared = prepare_inputs(model.model, model.bindings, {});
  const std::vector<Array> inputs = prepared.arrays();
  const Executable whole = compile(model.model.graph);
  const RunOptions options{.bindings = prepared.bindings};
  const std::vector<Array> wanted = whole.run(inputs, options);
  PlanRun run;
  StatefulRun again(whole, model.model.graph, inputs);
  again(options);                     // has state to copy
  constexpr double budget = 300'000;  // of short runs many: neighbours on the machine disturb some
  run.whole_us = sample([&] { again(options); }, std::max<size_t>(repeats, 1), budget).least();
  std::vector<report::StepTime> steps;
  if (!model.step_of.empty()) {
    steps = report::step_times(whole, [&](const RunOptions& traced) { again(traced); }, prepared.bindings);
  }

  Arrays arrays;
  for (const NamedArray& each : prepared.inputs) {
    arrays.emplace(each.name, each.value);
  }
  std::vector<double> estimated;
  std::vector<double> measured;
  for (size_t i = 0; i < plan.parts.size(); ++i) {
    progress.show(fmt::format("part {} of {}", i + 1, plan.parts.size()));
    run.parts.push_back(run_part(part_graph(model.work, plan, i), prepared.bindings, arrays, repeats));
    PartRun& part = run.parts.back();
    if (!steps.empty()) {
      part.in_whole = 0;
      for (const int op : plan.parts[i].operators) {
        part.in_whole += steps.at(model.step_of[static_cast<size_t>(op)]).microseconds;
      }
    }
    estimated.push_back(plan.parts[i].figures.seconds);
    measured.push_back(part.in_whole >= 0 ? part.in_whole : part.microseconds);
  }
  run.rank = correlation(ranks(estimated), ranks(measured));
  std::vector<Array> got;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const Output& output = model.model.graph.outputs()[i];
    const auto at = arrays.find(output.name);
    const bool computed = at != arrays.end() && at->second.dims() == wanted[i].dims();
    got.push_back(computed ? at->second : output_alone(model.model.graph, output, inputs, prepared.bindings));
  }
  run.outputs = match_outputs(model.model.graph, got, wanted, prepared.bindings);
  return run;
}

std::string run_table(const PlanRun& run, const Plan& plan) {
  double sum = 0;
  for (const PartRun& part : run.parts) {
    sum += part.microseconds;
  }
  std::string text = matches_text(run.outputs);
  text += fmt::format("  measured: {} part{} in {}, the whole in {}; estimated {}; ranks of parts agree to {:.2f}\n",
                      run.parts.size(), run.parts.size() == 1 ? "" : "s", time_text(sum), time_text(run.whole_us),
                      time_text(plan.totals.latency * 1e6), run.rank);
  return text;
}

Json run_json(const PlanRun& run) {
  Json parts = Json::array();
  for (const PartRun& part : run.parts) {
    parts.push(part.microseconds);
  }
  Json in_whole = Json::array();
  for (const PartRun& part : run.parts) {
    if (part.in_whole >= 0) {
      in_whole.push(part.in_whole);
    }
  }
  return Json::object()
      .set("part_microseconds", parts)
      .set("part_microseconds_in_whole", in_whole)
      .set("whole_microseconds", run.whole_us)
      .set("rank_correlation", run.rank)
      .set("outputs", matches_json(run.outputs));
}

}  // namespace tenon::cli
