// The passes of a compile: what `tenon explain --passes` and `--after` show.
#pragma once

#include <string>
#include <vector>

#include "tenon/compile.h"
#include "tenon/executable.h"

namespace tenon::cli {

/// What each pass took, the schedule and code behind them. `no_code` says why there is none; "" where there is.
void print_passes(const CompileReport& report, int64_t kernels, const std::string& no_code, bool as_json);

/// The graph after a pass, by `name` (its last run) or `name:2` (its second). Error: it did not run, or not so often.
const Graph& graph_after(const std::string& pass, const std::vector<PassRun>& runs);

}  // namespace tenon::cli
