// A compiled graph as a picture: operations as boxes, kernels as hulls around them.
#pragma once

#include <string>

#include "cli/explain/explain_steps.h"
#include "compiler/lowered.h"

namespace tenon::cli {

/// In Graphviz's language. A hull's number is the step's, and it links to `#stepN`. `executable` is what was made of
/// `lowered`.
/// `pipelines` says what runs tile by tile where sizes are known; without it, what may.
std::string picture_dot(const compiler::Lowered& lowered, const Executable& executable,
                        const std::vector<PipelineReport>& pipelines);

/// Laid out by Graphviz's program `dot`. Error: there is no such program, or it failed.
std::string layout_svg(const std::string& dot);

}  // namespace tenon::cli
