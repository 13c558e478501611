// How far each step is from what the machine could do, in words.
#pragma once

#include <string>
#include <vector>

#include "report/roofline.h"
#include "tenon/executable.h"

namespace tenon::cli {

using report::Roofline;

/// What limits a step, with the threads that it took: "memory of 2 threads".
std::string limit_text(const roofs::Limit& limit, const report::BoundStep& step);

/// What the roofs are, and where most time could be won.
std::string roofline_text(const Roofline& roofline, const std::vector<report::BoundStep>& steps,
                          const Executable& executable);

}  // namespace tenon::cli
