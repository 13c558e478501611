// What an executable did: `--stats`.
#pragma once

#include <string>

#include "cli/verb.h"
#include "report/run_stats.h"
#include "tenon/executable.h"

namespace tenon::cli {

inline constexpr Option kStatsOption{
    "--stats", "", "also what was counted: sizes that came, hits, time to specialise, memory that is kept"};

using report::run_stats_json;
/// The same as lines.
std::string run_stats_text(const Executable& executable);

}  // namespace tenon::cli
