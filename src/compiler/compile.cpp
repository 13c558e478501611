#include "tenon/compile.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <set>

#include "base/fail.h"
#include "compiler/backend.h"
#include "compiler/pipeline.h"
#include "ir/walk.h"
#include "runtime/make_executable.h"
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

}  // namespace

Executable compile(const Graph& graph, const CompileOptions& options) {
  CompileReport local;
  CompileReport& report = options.report ? *options.report : local;
  report = {};
  const Stopwatch watch;
  const Graph optimized = optimize(graph, options, report.passes);
  const Stopwatch schedule_watch;
  const BackendOptions backend{.native = options.native, .disk_cache = options.disk_cache};
  Program program = schedule(optimized, {.fuse = options.fuse, .panel = panel_columns(backend)});
  report.schedule_ms = schedule_watch.milliseconds();
  report.kernels = static_cast<int>(program.kernels.size());
  const Stopwatch codegen_watch;
  KernelCode code = make_code(program.kernels, backend);
  report.codegen_ms = codegen_watch.milliseconds();
  report.code = code.description;
  // Inputs and constraints of the graph as it was given: a pass may prove that a node, and what it needs, is not
  // needed, or a size that nobody wrote; errors speak of what was written.
  for (size_t i = 0; i < program.inputs.size(); ++i) {
    program.inputs[i].shape = graph.inputs()[i].shape();
  }
  set_given_sizes(program, options.sizes_from);
  return make_executable(std::move(program), std::move(code.entries), graph.constraints(), std::move(code.keep_alive),
                         {.compile_ms = watch.milliseconds(), .code = code.description, .names = names_of(graph)});
}

}  // namespace tenon
