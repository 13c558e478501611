#include "tenon/compile.h"

#include <memory>
#include <set>
#include <utility>

#include "backend/backend.h"
#include "compiler/lowered.h"
#include "compiler/stopwatch.h"
#include "ir/data_axes.h"
#include "ir/walk.h"
#include "kernel/loop/loop_walk.h"

namespace tenon {
namespace compiler {

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

namespace {

/// Of all at once: equal kernels are made once.
devices::Module make_code(const Lowered& lowered, const CodeChoice& choice, CompileReport& report) {
  const Stopwatch watch;
  const std::vector<const loops::Kernel*> kernels = lowered.kernels();
  backend::CompiledKernels code =
      backend::backend_for(lowered.machine, choice.native).compile(kernels, lowered.machine, choice.options);
  report.codegen_ms = watch.milliseconds();
  report.kernels = static_cast<int>(kernels.size());
  report.code = code.module.description;
  for (size_t i = 0; i < kernels.size(); ++i) {
    report.code_of.push_back({kernels[i]->name, loops::has_products(*kernels[i]), code.milliseconds[i]});
  }
  return std::move(code.module);
}

runtime::Segments with_code(Lowered lowered, std::shared_ptr<const devices::LoadedCode> code) {
  runtime::Segments result{.code = std::move(code),
                           .signature = std::move(lowered.signature),
                           .segments = {},
                           .outputs = std::move(lowered.outputs),
                           .late = data_axes(lowered.given)};
  for (LoweredSegment& segment : lowered.segments) {
    result.segments.push_back({.program = std::move(segment.program),
                               .inputs = std::move(segment.inputs),
                               .binds = std::move(segment.binds),
                               .constraints = std::move(segment.constraints)});
  }
  return result;
}

}  // namespace

CodeChoice code_choice(const CompileOptions& options) {
  return {.native = options.native, .options = {.disk_cache = options.disk_cache}};
}

ForFile compile_for_file(Lowered lowered, const CodeChoice& code) {
  ForFile result{.segments = {}, .names = names_of(lowered.given), .module = {}};
  result.module = backend::backend_for(lowered.machine, code.native)
                      .compile_for_file(lowered.kernels(), lowered.machine, code.options)
                      .module;
  result.segments = with_code(std::move(lowered), nullptr);
  return result;
}

Executable compile(Lowered lowered, const CodeChoice& code, CompileReport& report, runtime::RuntimeOptions options) {
  const Stopwatch watch;
  const devices::Module module = make_code(lowered, code, report);
  const double lower_ms = lowered.milliseconds;
  options.names = names_of(lowered.given);
  options.code = module.description;
  options.code_bytes = devices::byte_count(module);
  if (!options.device) {
    options.device = backend::backend_for(lowered.machine, code.native).device(Pool::shared());
  }
  runtime::Segments segments = with_code(std::move(lowered), options.device->load(module));
  for (runtime::Segment& segment : segments.segments) {
    lay_out_constants(segment.program);  // the graphs are gone
  }
  options.compile_ms = lower_ms + watch.milliseconds();
  return runtime::make_executable(std::move(segments), options);
}

}  // namespace compiler

Executable compile(const Graph& graph, const CompileOptions& options) {
  CompileReport local;
  CompileReport& report = options.report ? *options.report : local;
  report = {};
  return compiler::compile(compiler::lower(graph, options, report), compiler::code_choice(options), report);
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
  return compiler::compile(std::move(lowered), compiler::code_choice(options), report);
}

}  // namespace tenon
