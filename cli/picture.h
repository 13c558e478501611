// A compiled graph as a picture: operations as boxes, kernels as hulls around them.
#pragma once

#include <string>

#include "scheduled.h"

namespace tenon::cli {

/// In Graphviz's language. A hull's number is the step's, and it links to `#stepN`.
std::string picture_dot(const ScheduledGraph& scheduled, const Executable& executable);

/// Laid out by Graphviz's program `dot`. Error: there is no such program, or it failed.
std::string layout_svg(const std::string& dot);

/// A page around the picture: the steps as a table, each linked with its hull.
std::string picture_html(const std::string& svg, const Executable& executable, const ScheduledGraph& scheduled);

}  // namespace tenon::cli
