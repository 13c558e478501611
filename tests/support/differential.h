// Compiled random graphs held against the interpreter.
#pragma once

#include <optional>
#include <string>

#include "support/random_graph.h"
#include "tenon/compile.h"

namespace tenon {

/// What is wrong with the compiled graph, at some binding: other elements than the interpreter's beyond the tolerance,
/// other bits with two threads than with one, or another Error. Nothing when all is well.
std::optional<std::string> find_difference(const RandomGraph& random, uint64_t seed,
                                           const CompileOptions& options = {});

}  // namespace tenon
