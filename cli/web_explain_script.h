// What makes the page of `tenon explain --html` answer: JavaScript that reads the constant `data`.
#pragma once

#include <string_view>

namespace tenon::cli {

extern const std::string_view kExplainScript;  // the table, the picture, search, keys
extern const std::string_view kExplainRun;     // threads through one run, the sizes that came
extern const std::string_view kExplainCharts;  // the roofline and the timeline of memory

}  // namespace tenon::cli
