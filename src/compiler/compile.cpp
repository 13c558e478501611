#include "tenon/compile.h"

#include <algorithm>
#include <future>
#include <iterator>
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
devices::Module make_code(std::span<const loops::Kernel* const> kernels, const Machine& machine,
                          const CodeChoice& choice, CompileReport& report) {
  const Stopwatch watch;
  backend::CompiledKernels code =
      backend::backend_for(machine, choice.native).compile(kernels, machine, choice.options);
  report.codegen_ms = watch.milliseconds();
  report.kernels = static_cast<int>(kernels.size());
  report.code = code.module.description;
  for (size_t i = 0; i < kernels.size(); ++i) {
    report.code_of.push_back({kernels[i]->name, loops::has_products(*kernels[i]), code.milliseconds[i]});
  }
  return std::move(code.module);
}

/// What runs, but for its code. The graphs go.
runtime::Segments without_code(Lowered lowered) {
  runtime::Segments result{.code = nullptr,
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

std::vector<const loops::Kernel*> kernels_of(const runtime::Segments& segments) {
  std::vector<const loops::Kernel*> kernels;
  for (const runtime::Segment& segment : segments.segments) {
    std::ranges::copy(all_kernels(segment.program), std::back_inserter(kernels));
  }
  return kernels;
}

void lay_out_constants(runtime::Segments& segments) {
  for (runtime::Segment& segment : segments.segments) {
    tenon::lay_out_constants(segment.program);
  }
}

}  // namespace

CodeChoice code_choice(const CompileOptions& options) {
  return {.native = options.native, .options = {.disk_cache = options.disk_cache}};
}

ForFile compile_for_file(Lowered lowered, const CodeChoice& code) {
  const Machine machine = lowered.machine;
  ForFile result{.segments = {}, .names = names_of(lowered.given), .module = {}};
  result.segments = without_code(std::move(lowered));
  const std::vector<const loops::Kernel*> kernels = kernels_of(result.segments);
  // As in compile().
  std::future<devices::Module> compiled = std::async([&] {
    return backend::backend_for(machine, code.native).compile_for_file(kernels, machine, code.options).module;
  });
  lay_out_constants(result.segments);
  result.module = compiled.get();
  return result;
}

Executable compile(Lowered lowered, const CodeChoice& code, CompileReport& report, runtime::RuntimeOptions options) {
  const Stopwatch watch;
  const double lower_ms = lowered.milliseconds;
  const Machine machine = lowered.machine;
  options.names = names_of(lowered.given);
  runtime::Segments segments = without_code(std::move(lowered));
  const std::vector<const loops::Kernel*> kernels = kernels_of(segments);
  // It looks at no constants. They are laid out here, on the thread whose memory they take over.
  std::future<devices::Module> compiled = std::async([&] { return make_code(kernels, machine, code, report); });
  lay_out_constants(segments);
  const devices::Module module = compiled.get();
  options.code = module.description;
  options.code_bytes = devices::byte_count(module);
  if (!options.device) {
    options.device = backend::backend_for(machine, code.native).device(Pool::shared(), code.options.disk_cache);
  }
  segments.code = options.device->load(module);
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
