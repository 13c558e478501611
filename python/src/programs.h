// Executables that can be saved.
#pragma once

#include <utility>

#include "tenon/compile.h"

namespace tenon::python {

/// It keeps the graph that it was compiled from: a program for a file is made of that, not of machine code in memory.
struct CompiledGraph : Executable {
  CompiledGraph(Executable executable, Graph from, CompileOptions with)
      : Executable(std::move(executable)), graph(std::move(from)), options(std::move(with)) {}

  Graph graph;
  CompileOptions options;
};

}  // namespace tenon::python
