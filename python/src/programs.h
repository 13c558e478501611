// Executables that can be saved.
#pragma once

#include <optional>
#include <utility>

#include "tenon/compile.h"

namespace tenon::python {

/// It keeps the graph that it was compiled from, unless told not to: a program for a file is made of that, not of
/// machine code in memory.
struct CompiledGraph : Executable {
  CompiledGraph(Executable executable, std::optional<Graph> from, CompileOptions with)
      : Executable(std::move(executable)), graph(std::move(from)), options(std::move(with)) {}

  std::optional<Graph> graph;
  CompileOptions options;
};

}  // namespace tenon::python
