// What runs tile by tile at sizes, and why the rest does not, in words.
#pragma once

#include <string>
#include <vector>

#include "tenon/executable.h"

namespace tenon::report {

/// What ran tile by tile, a line each; then, for each reason to run whole, all steps that it holds for. Reasons that
/// differ in numbers alone are one, with the least and the most of each number.
std::vector<std::string> tile_lines(const std::vector<PipelineReport>& reports);

}  // namespace tenon::report
