#include "support/kernel_times.h"

#ifdef TENON_WITH_LLVM

#include <algorithm>
#include <array>
#include <set>

#include "codegen/compile_kernels.h"
#include "compiler/pipeline.h"
#include "compiler/schedule_options.h"
#include "compiler/segments.h"
#include "kernel/loop/loop_walk.h"
#include "kernel/program/program.h"
#include "schedule/schedule.h"

namespace bench {

namespace {

using namespace tenon;  // NOLINT: as in other programs here

constexpr int kRounds = 5;

/// As compile() schedules it.
std::vector<loops::Kernel> kernels_of(const Graph& graph) {
  const CompileOptions options;
  std::vector<PassRun> runs;
  std::vector<loops::Kernel> kernels;
  for (const GraphSegment& segment : cut(optimize(graph, options, runs)).segments) {
    const Program program = schedule::make_program(segment.graph, schedule_options(options), body_optimizer(options));
    for (const loops::Kernel* each : all_kernels(program)) {
      kernels.push_back(*each);
    }
  }
  return kernels;
}

}  // namespace

std::vector<KernelTime> kernel_times(std::span<const Graph> graphs) {
  std::set<std::string> seen;
  std::vector<loops::Kernel> kernels;
  for (const Graph& graph : graphs) {
    for (loops::Kernel& each : kernels_of(graph)) {
      if (seen.insert(loops::to_string(each, /*canonical=*/true)).second) kernels.push_back(std::move(each));
    }
  }
  std::vector<std::vector<double>> times(kernels.size());
  for (int round = 0; round < kRounds; ++round) {
    codegen::JitOptions options = codegen::kernel_jit_options();
    options.cache.enabled = false;
    options.threads = 1;
    codegen::Jit jit(std::move(options));  // a new one knows no kernel
    for (size_t i = 0; i < kernels.size(); ++i) {
      std::vector<double> milliseconds;
      (void)codegen::compile_kernels(std::array{static_cast<const loops::Kernel*>(&kernels[i])}, jit, {},
                                     &milliseconds);
      times[i].push_back(milliseconds[0]);
    }
  }
  std::vector<KernelTime> result;
  for (size_t i = 0; i < kernels.size(); ++i) {
    result.push_back({kernels[i].name, loops::has_products(kernels[i]), std::ranges::min(times[i])});
  }
  return result;
}

}  // namespace bench

#else

namespace bench {

std::vector<KernelTime> kernel_times(std::span<const tenon::Graph> /*graphs*/) { return {}; }

}  // namespace bench

#endif
