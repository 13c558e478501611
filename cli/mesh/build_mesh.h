// `tenon build --mesh`.
#pragma once

#include <string>

#include "cli/models/load_graph.h"
#include "cli/words/arguments.h"
#include "tenon/build_program.h"

namespace tenon::cli {

/// Writes the program of every rank, with the model's values. Sizes that choices of layouts go by are
/// BuildOptions::usual.
void build_for_mesh(const Arguments& arguments, const Graph& graph, const GraphModel& model, const std::string& path,
                    const BuildOptions& options);

}  // namespace tenon::cli
