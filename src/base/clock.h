// The time that passes.
#pragma once

#include <chrono>
#include <cstdint>

namespace tenon {

/// Of a clock that never goes back; its zero is anywhere.
inline int64_t nanoseconds_now() {
  using std::chrono::nanoseconds;
  return std::chrono::duration_cast<nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace tenon
