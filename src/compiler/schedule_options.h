// What the schedule is told of a compile's options and of the machine.
#pragma once

#include "schedule/options/schedule_options.h"
#include "tenon/compile.h"

namespace tenon::compiler {

/// Error: no machine has such numbers as CompileOptions::machine.
schedule::ScheduleOptions schedule_options(const CompileOptions& options);

}  // namespace tenon::compiler
