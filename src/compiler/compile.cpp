#include "tenon/compile.h"

#include <iterator>
#include <set>
#include <utility>

#include "compiler/lowered.h"
#include "compiler/stopwatch.h"
#include "ir/data_axes.h"
#include "ir/walk.h"
#include "kernel/loop/loop_walk.h"

namespace tenon {
namespace compiler {
namespace {

/// Every name of what the outputs need, also those that no kernel needs in the end.
std::vector<std::string> names_of(const Graph& graph) {
  std::vector<Value> roots;
  for (const Output& output : graph.outputs()) {
    roots.push_back(output.value);
  }
  AxisNames names;
  for (const Node* node : topological_order(roots)) {
    names.merge(needed_axes(*node));
    if (std::string bound = bound_axis(*node); !bound.empty()) {
      names.insert(std::move(bound));
    }
  }
  return {names.begin(), names.end()};
}

/// Of all at once: equal kernels are made once.
KernelCode make_code(const Lowered& lowered, const BackendOptions& backend, CompileReport& report) {
  const Stopwatch watch;
  const std::vector<const loops::Kernel*> kernels = lowered.kernels();
  KernelCode code = make_code(kernels, lowered.machine, backend);
  report.codegen_ms = watch.milliseconds();
  report.kernels = static_cast<int>(kernels.size());
  report.code = code.description;
  for (size_t i = 0; i < kernels.size(); ++i) {
    report.code_of.push_back({kernels[i]->name, loops::has_products(*kernels[i]), code.milliseconds[i]});
  }
  return code;
}

runtime::Segments with_code(Lowered lowered, std::vector<KernelEntry> entries) {
  runtime::Segments result{.signature = std::move(lowered.signature),
                           .segments = {},
                           .outputs = std::move(lowered.outputs),
                           .late = data_axes(lowered.given)};
  auto entry = std::make_move_iterator(entries.begin());
  for (LoweredSegment& segment : lowered.segments) {
    const auto end = entry + std::ssize(all_kernels(segment.program));
    result.segments.push_back({.program = std::move(segment.program),
                               .code = {entry, end},
                               .inputs = std::move(segment.inputs),
                               .binds = std::move(segment.binds),
                               .constraints = std::move(segment.constraints)});
    entry = end;
  }
  return result;
}

BackendOptions backend_options(const CompileOptions& options) {
  return {.native = options.native, .disk_cache = options.disk_cache};
}

}  // namespace

Executable compile(Lowered lowered, const BackendOptions& backend, CompileReport& report,
                   runtime::RuntimeOptions options) {
  const Stopwatch watch;
  KernelCode code = make_code(lowered, backend, report);
  const double lower_ms = lowered.milliseconds;
  options.names = names_of(lowered.given);
  options.code = std::move(code.description);
  runtime::Segments segments = with_code(std::move(lowered), std::move(code.entries));
  for (runtime::Segment& segment : segments.segments) {
    lay_out_constants(segment.program);  // the graphs are gone
  }
  options.compile_ms = lower_ms + watch.milliseconds();
  return runtime::make_executable(std::move(segments), std::move(code.keep_alive), options);
}

}  // namespace compiler

Executable compile(const Graph& graph, const CompileOptions& options) {
  CompileReport local;
  CompileReport& report = options.report ? *options.report : local;
  report = {};
  return compiler::compile(compiler::lower(graph, options, report), compiler::backend_options(options), report);
}

Executable compile(Graph&& graph, const CompileOptions& options) {
  CompileReport local;
  CompileReport& report = options.report ? *options.report : local;
  report = {};
  compiler::Lowered lowered = compiler::lower(graph, options, report);
  graph = Graph();
  for (PassRun& run : report.passes) {
    run.after = Graph();
  }
  return compiler::compile(std::move(lowered), compiler::backend_options(options), report);
}

}  // namespace tenon
