// What the schedule is told of a compile's options and of the machine.
#pragma once

#include "schedule/fuse/group.h"
#include "tenon/compile.h"

namespace tenon::compiler {

schedule::GroupOptions grouping(const CompileOptions& options);

}  // namespace tenon::compiler
