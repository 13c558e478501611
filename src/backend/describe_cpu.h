// What the schedule is told of any CPU, whatever makes its code.
#pragma once

#include "schedule/options/schedule_options.h"
#include "tenon/machine.h"

namespace tenon::backend {

/// Tiles of products, cores, vectors, and what regions know of caches.
void describe_cpu(const Machine& machine, schedule::ScheduleOptions& options);

}  // namespace tenon::backend
