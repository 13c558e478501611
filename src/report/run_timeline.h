// One run on the page: which thread was at which step, and when it waited.
#pragma once

#include <vector>

#include "report/json.h"
#include "tenon/trace.h"

namespace tenon::report {

/// Times in microseconds from the beginning of the first event: `span`, and for each of `threads` its number, how long
/// it was at steps (`busy`), and `events`, each [step, begin, end]. Neighbouring events of one step are one. Of a long
/// run the first events only; `left_out` says how many more there are.
Json run_timeline_json(std::vector<TraceEvent> events);

}  // namespace tenon::report
