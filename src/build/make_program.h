// A program as it is written, before there is a file.
#pragma once

#include "saved/saved_program.h"
#include "tenon/build_program.h"

namespace tenon {

/// What build_program() writes.
saved::SavedProgram make_program(Graph graph, const BuildOptions& options);

/// What the file of a program says of a graph and of how it was compiled, without names of axes and constraints.
ProgramFileInfo describe_program(const Graph& graph, const BuildOptions& options);

}  // namespace tenon
