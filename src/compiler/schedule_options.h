// What the schedule is told of a compile's options and of the machine.
#pragma once

#include "schedule/options/schedule_options.h"
#include "tenon/compile.h"

namespace tenon::compiler {

/// Error: no machine has such facts as CompileOptions::machine, or it is a GPU and code is wanted (backend_for()).
schedule::ScheduleOptions schedule_options(const CompileOptions& options);

}  // namespace tenon::compiler
