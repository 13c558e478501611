// What the schedule is told of any GPU, whatever makes its code.
#pragma once

#include "schedule/options/schedule_options.h"
#include "tenon/machine.h"

namespace tenon::backend {

/// Kernels are mapped to blocks of threads; tiles, and rows that are kept, fit the memory that a block shares.
void describe_gpu(const Machine& machine, schedule::ScheduleOptions& options);

}  // namespace tenon::backend
