// A compiled graph as a picture: operations as boxes, kernels as hulls around them.
#pragma once

#include <string>

#include "compiler/lowered.h"
#include "explain_steps.h"

namespace tenon::cli {

/// In Graphviz's language. A hull's number is the step's, and it links to `#stepN`. `executable` is what was made of
/// `lowered`.
std::string picture_dot(const compiler::Lowered& lowered, const Executable& executable);

/// Laid out by Graphviz's program `dot`. Error: there is no such program, or it failed.
std::string layout_svg(const std::string& dot);

/// A page around the picture: the steps as a table, each linked with its hull. Where they are bound to sizes, `bound`
/// has figures and times, which are shown as bars.
std::string picture_html(const std::string& svg, const Executable& executable, const std::vector<BoundStep>& bound);

}  // namespace tenon::cli
