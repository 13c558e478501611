// What an executable did, as data.
#pragma once

#include "report/json.h"
#include "tenon/executable.h"

namespace tenon::report {

/// All counters, and the sizes that came.
Json run_stats_json(const Executable& executable);

}  // namespace tenon::report
