// What makes the page of a model answer: JavaScript that reads the constant `data`. The parts stand in the page in this
// order, and each may use what stands before it.
#pragma once

#include <string_view>

namespace tenon::report {

extern const std::string_view kExplainBase;     // figures as people write them, modules of steps
extern const std::string_view kExplainLayout;   // boxes in layers, and edges between them
extern const std::string_view kExplainGroups;   // modules, steps and operators as boxes in boxes
extern const std::string_view kExplainPicture;  // drawing, zooming, folding
extern const std::string_view kExplainSteps;    // the table, and what is said of a step
extern const std::string_view kExplainRun;      // threads through one run, the sizes that came
extern const std::string_view kExplainCharts;   // the roofline and the timeline of memory
extern const std::string_view kExplainKeys;     // search, keys, realizations, the first drawing

extern const std::string_view kPlaceNames;  // names in charts, for any page

}  // namespace tenon::report
