// Machines that differ from this one.
#pragma once

#include "tenon/machine.h"

namespace tenon {

/// This one with so many bytes of second cache.
inline Machine with_cache(int64_t bytes) {
  Machine machine = this_machine();
  machine.second_cache = bytes;
  return machine;
}

}  // namespace tenon
