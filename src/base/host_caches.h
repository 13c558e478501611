// The caches of this machine.
#pragma once

#include <cstdint>

namespace tenon {

/// Bytes of data or of both; 0 where the system does not say.
struct HostCaches {
  int64_t first = 0;   // of one core
  int64_t second = 0;  // of one core
  int64_t last = 0;    // of those behind the second, which cores share
};

/// Asks the system.
HostCaches host_caches();

}  // namespace tenon
