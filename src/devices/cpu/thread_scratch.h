// Memory of a thread for what one grid iteration keeps to itself.
#pragma once

#include <cstdint>

namespace tenon::devices {

/// At least `bytes` at a multiple of 64, until the next call on this thread. An Error when there is no memory.
void* thread_scratch(int64_t bytes);

}  // namespace tenon::devices
