#include "tenon/compile.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <set>

#include "base/fail.h"
#include "compiler/backend.h"
#include "compiler/pipeline.h"
#include "compiler/schedule_options.h"
#include "compiler/segments.h"
#include "ir/data_axes.h"
#include "ir/walk.h"
#include "kernel/loop/loop_walk.h"
#include "runtime/run/make_executable.h"
#include "schedule/schedule.h"

namespace tenon {
namespace {

class Stopwatch {
 public:
  double milliseconds() const {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Every name of the graph, also those that no kernel needs in the end.
std::vector<std::string> names_of(const Graph& graph) {
  std::vector<Value> roots;
  for (const Output& output : graph.outputs()) {
    roots.push_back(output.value);
  }
  std::set<std::string> names;
  for (const Node* node : topological_order(roots)) {
    for (const Shape& shape : node->shapes) {
      for (const Axis& axis : shape.axes()) {
        if (!axis.extent().constant()) {
          std::ranges::move(axis.extent().names(), std::inserter(names, names.end()));
        }
      }
    }
  }
  return {names.begin(), names.end()};
}

void set_given_sizes(Program& program, const std::map<std::string, std::vector<std::string>>& sizes_from) {
  for (const auto& [name, sizes] : sizes_from) {
    const auto input = std::ranges::find(program.inputs, name, &ProgramInput::name);
    if (input == program.inputs.end()) {
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

/// Inputs of the graph as it was given: a pass may prove a size that nobody wrote; errors speak of what was written.
void speak_of(Program& program, const Graph& graph, const CompileOptions& options) {
  for (size_t i = 0; i < program.inputs.size(); ++i) {
    program.inputs[i].shape = graph.inputs()[i].shape();
  }
  set_given_sizes(program, options.sizes_from);
}

/// Those of the graph as it was given, which hold before anything runs: a pass may prove that a node, and what it
/// needs, is not needed.
ConstraintSet early_constraints(const Graph& graph) {
  const AxisNames late = data_axes(graph);
  return late.empty() ? graph.constraints() : graph.constraints().without(late);
}

/// Name, inputs and outputs of all segments together.
Program whole_program(const Graph& graph, const CompileOptions& options) {
  Program whole;
  whole.name = graph.name();
  for (const Value& input : graph.inputs()) {
    whole.inputs.push_back({.name = input.node().as<Input>()->name, .shape = input.shape()});
  }
  for (const Output& output : graph.outputs()) {
    whole.outputs.push_back({.name = output.name, .shape = output.value.shape(), .strides = {}});
  }
  speak_of(whole, graph, options);
  return whole;
}

KernelCode make_code(const std::vector<const loops::Kernel*>& kernels, const BackendOptions& backend,
                     CompileReport& report) {
  const Stopwatch watch;
  KernelCode code = make_code(kernels, backend);
  report.codegen_ms = watch.milliseconds();
  report.kernels = static_cast<int>(kernels.size());
  report.code = code.description;
  for (size_t i = 0; i < kernels.size(); ++i) {
    report.code_of.push_back({kernels[i]->name, loops::has_products(*kernels[i]), code.milliseconds[i]});
  }
  return code;
}

Executable compile_segments(const Graph& graph, const Graph& optimized, const schedule::ScheduleOptions& groups,
                            const BackendOptions& backend, const CompileOptions& options, const Stopwatch& watch,
                            CompileReport& report) {
  const Stopwatch schedule_watch;
  SegmentedGraph parts = cut(optimized);
  Segments result;
  result.outputs = std::move(parts.outputs);
  AxisNames unbound = data_axes(graph);
  result.late = unbound;
  for (GraphSegment& part : parts.segments) {
    Segment segment{.program = schedule::make_program(part.graph, groups, body_optimizer(options)),
                    .code = {},
                    .inputs = std::move(part.inputs),
                    .binds = std::move(part.binds),
                    .constraints = graph.constraints().without(unbound)};
    for (const BoundAxis& axis : segment.binds) {
      unbound.erase(axis.name);
    }
    result.segments.push_back(std::move(segment));
  }
  report.schedule_ms = schedule_watch.milliseconds();
  std::vector<const loops::Kernel*> kernels;
  for (const Segment& segment : result.segments) {
    std::ranges::copy(all_kernels(segment.program), std::back_inserter(kernels));
  }
  KernelCode code = make_code(kernels, backend, report);  // of all at once: equal ones are made once
  auto entry = code.entries.begin();
  for (Segment& segment : result.segments) {
    const auto end = entry + std::ssize(all_kernels(segment.program));
    segment.code.assign(std::make_move_iterator(entry), std::make_move_iterator(end));
    entry = end;
  }
  result.whole = whole_program(graph, options);
  return make_executable(std::move(result), std::move(code.keep_alive),
                         {.compile_ms = watch.milliseconds(), .code = code.description, .names = names_of(graph)});
}

}  // namespace

Executable compile(const Graph& graph, const CompileOptions& options) {
  CompileReport local;
  CompileReport& report = options.report ? *options.report : local;
  report = {};
  const Stopwatch watch;
  const Graph optimized = optimize(graph, options, report.passes);
  const BackendOptions backend{.native = options.native, .disk_cache = options.disk_cache, .machine = options.machine};
  const schedule::ScheduleOptions groups = schedule_options(options);
  if (!data_axes(optimized).empty()) {
    return compile_segments(graph, optimized, groups, backend, options, watch, report);
  }
  const Stopwatch schedule_watch;
  Program program = schedule::make_program(optimized, groups, body_optimizer(options));
  report.schedule_ms = schedule_watch.milliseconds();
  const std::vector<const loops::Kernel*> kernels = all_kernels(program);
  KernelCode code = make_code(kernels, backend, report);
  speak_of(program, graph, options);
  return make_executable(std::move(program), std::move(code.entries), early_constraints(graph),
                         std::move(code.keep_alive),
                         {.compile_ms = watch.milliseconds(), .code = code.description, .names = names_of(graph)});
}

}  // namespace tenon
