#include "compiler/lowered.h"

#include <algorithm>
#include <iterator>

#include "base/fail.h"
#include "compiler/pipeline.h"
#include "compiler/schedule_options.h"
#include "compiler/segments.h"
#include "compiler/stopwatch.h"
#include "ir/data_axes.h"
#include "schedule/schedule.h"
#include "shape/not_representable.h"

namespace tenon::compiler {
namespace {

void set_given_sizes(Signature& signature, const std::map<std::string, std::vector<std::string>>& sizes_from) {
  for (const auto& [name, sizes] : sizes_from) {
    const auto input = std::ranges::find(signature.inputs, name, &SignatureInput::name);
    if (input == signature.inputs.end()) {
      fail("there is no input `{}` to take sizes from", name);
    }
    const Shape& shape = input->shape;
    const auto elements = shape.element_count().constant();
    if (is_float(shape.dtype()) || shape.dtype() == Dtype::boolean || elements != std::ssize(sizes)) {
      fail("input `{}` is {}, which is not {} integers for the sizes of {}", name, shape.to_string(), sizes.size(),
           fmt::join(sizes, ", "));
    }
    input->gives = sizes;
  }
}

/// Of the graph as it was given: a pass may prove a size that nobody wrote; errors speak of what was written.
Signature given_signature(const Graph& graph, const CompileOptions& options) {
  Signature signature{.name = graph.name(), .inputs = {}, .outputs = {}};
  for (const Value& input : graph.inputs()) {
    signature.inputs.push_back({.name = input.node().as<Input>()->name, .shape = input.shape()});
  }
  for (const Output& output : graph.outputs()) {
    signature.outputs.push_back({.name = output.name, .shape = output.value.shape()});
  }
  set_given_sizes(signature, options.sizes_from);
  return signature;
}

/// Those of the graph as it was given, also of nodes that a pass proved not to be needed.
ConstraintSet constraints_without(const Graph& graph, const AxisNames& unbound) {
  return unbound.empty() ? graph.constraints() : graph.constraints().without(unbound);
}

}  // namespace

std::vector<LoweredStep> Lowered::steps() const& {
  std::vector<LoweredStep> steps;
  for (const LoweredSegment& segment : segments) {
    for (size_t i = 0; i < segment.program.steps.size(); ++i) {
      steps.push_back({.program = segment.program, .step = segment.program.steps[i], .nodes = segment.nodes[i]});
    }
  }
  return steps;
}

std::vector<const loops::Kernel*> Lowered::kernels() const {
  std::vector<const loops::Kernel*> kernels;
  for (const LoweredSegment& segment : segments) {
    std::ranges::copy(all_kernels(segment.program), std::back_inserter(kernels));
  }
  return kernels;
}

namespace {

/// Tiles for many cores are formulas, which sizes that are long themselves may make longer than extents can be: then
/// they are those of a machine with two. What else is wrong with the graph comes out again.
schedule::Scheduled scheduled_for(const Graph& graph, schedule::ScheduleOptions told, const CompileOptions& options) {
  if (told.cores > schedule::kFewCores) {
    try {
      return schedule::schedule_graph(graph, told, body_optimizer(options));
    } catch (const NotRepresentable&) {
      told.cores = schedule::kFewCores;
    }
  }
  return schedule::schedule_graph(graph, told, body_optimizer(options));
}

}  // namespace

Lowered lower(const Graph& graph, const CompileOptions& options, CompileReport& report) {
  const Stopwatch watch;
  Lowered lowered{.given = graph,
                  .optimized = optimize(graph, options, report.passes),
                  .machine = options.machine,
                  .signature = given_signature(graph, options),
                  .segments = {},
                  .outputs = {}};
  const schedule::ScheduleOptions told = schedule_options(options);
  const Stopwatch schedule_watch;
  SegmentedGraph parts = cut(lowered.optimized);
  lowered.outputs = std::move(parts.outputs);
  AxisNames unbound = data_axes(graph);
  for (GraphSegment& part : parts.segments) {
    schedule::Scheduled scheduled = scheduled_for(part.graph, told, options);
    ConstraintSet constraints = constraints_without(graph, unbound);
    for (const runtime::BoundAxis& axis : part.binds) {
      unbound.erase(axis.name);
    }
    lowered.segments.push_back({.graph = std::move(part.graph),
                                .program = std::move(scheduled.program),
                                .nodes = std::move(scheduled.nodes),
                                .bodies = std::move(scheduled.bodies),
                                .inputs = std::move(part.inputs),
                                .binds = std::move(part.binds),
                                .constraints = std::move(constraints)});
  }
  report.schedule_ms = schedule_watch.milliseconds();
  lowered.milliseconds = watch.milliseconds();
  return lowered;
}

}  // namespace tenon::compiler
