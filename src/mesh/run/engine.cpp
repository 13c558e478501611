#include <set>
#include <utility>

#include "ir/data_axes.h"
#include "mesh/run/mesh_program.h"
#include "tenon/interpreter.h"

namespace tenon::mesh {
namespace {

/// The names that sizes of the graph need; others may not be given.
std::set<std::string> names_of(const Graph& graph) {
  std::set<std::string> names;
  for (const Node* node : graph.nodes()) {
    for (const std::string& name : needed_axes(*node)) {
      names.insert(name);
    }
  }
  return names;
}

Bindings only(const std::set<std::string>& names, const Bindings& bindings) {
  Bindings result;
  for (const auto& [name, size] : bindings) {
    if (names.contains(name)) result.set(name, size);
  }
  return result;
}

}  // namespace

Engine interpreting() {
  return [](const Graph& graph) -> SegmentRun {
    return
        [graph, names = names_of(graph)](const std::vector<Array>& inputs, const Bindings& bindings, const Watchers&) {
          return interpret(graph, inputs, {.bindings = only(names, bindings)});
        };
  };
}

SegmentRun running(Executable executable, std::set<std::string> names, int threads) {
  return [executable = std::move(executable), names = std::move(names), threads](
             const std::vector<Array>& inputs, const Bindings& bindings, const Watchers& watchers) {
    return executable.run(inputs, {.threads = threads,
                                   .bindings = only(names, bindings),
                                   .trace = watchers.trace,
                                   .observer = watchers.observer});
  };
}

Engine compiling(const CompileOptions& options, int threads) {
  return [options, threads](const Graph& graph) { return running(compile(graph, options), names_of(graph), threads); };
}

}  // namespace tenon::mesh
