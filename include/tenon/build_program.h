// Graphs become program files: all work of compiling, done before anybody runs them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/bindings.h"
#include "tenon/compile.h"
#include "tenon/graph.h"
#include "tenon/machine.h"
#include "tenon/program_file.h"

namespace tenon {

/// How far a build is.
struct BuildProgress {
  std::string_view what;  ///< "scheduling", "compiling", "writing"
  std::string machine;    ///< that this is for; empty when it is for all
  int64_t done = 0;       ///< pieces of code begun, or bytes written
  int64_t of = 0;         ///< 0: nobody knows
};

struct BuildOptions {
  /// What programs are made for; more than one make a file that runs on each of them. None: this machine.
  std::vector<Machine> machines = {};
  /// How the graph is compiled; `machine`, `report` and `on_pass` are not looked at. Without `native`, kernels are kept
  /// as loops, which run anywhere, slowly.
  CompileOptions compile = {};
  bool reasons = true;                               ///< keep why steps end where they do, for explain()
  Bindings usual = {};                               ///< ProgramFileInfo::usual
  std::map<std::string, std::string> metadata = {};  ///< ProgramFileInfo::metadata
  /// Called now and then, on any thread, one call at a time. What it throws ends the build, which then leaves nothing.
  std::function<void(const BuildProgress&)> progress = {};
};

/// Compile for every machine and write one file, which load_program() reads. The file appears whole or not at all.
/// Machines need not be like this one. A graph that is moved here is gone before the last machine's weights are laid
/// out, which else are in memory beside it. Errors: those of compile(); what stands in the way of writing; a GPU.
void build_program(Graph graph, const std::string& path, const BuildOptions& options = {});

/// The graph with some of its names as numbers: sizes that are known. Error: a name that it does not have, or a size
/// that it cannot be.
Graph with_sizes(const Graph& graph, const Bindings& sizes);

}  // namespace tenon
