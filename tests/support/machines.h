// Machines that differ from this one.
#pragma once

#include "tenon/machine.h"

namespace tenon {

/// This one with so many bytes of second cache and none behind it.
inline Machine with_cache(int64_t bytes) {
  Machine machine = this_machine();
  machine.cpu().second_cache = bytes;
  machine.cpu().last_cache = 0;
  return machine;
}

/// And so many cores.
inline Machine machine_of(int64_t cache, int64_t cores) {
  Machine machine = with_cache(cache);
  machine.cpu().cores = cores;
  return machine;
}

}  // namespace tenon
