// Phases for blocks of few threads, where sizes turn out to be small.
#pragma once

#include <cstdint>
#include <vector>

#include "kernel/loop/loop.h"

namespace tenon::schedule {

/// How many elements the loops bound to threads of a phase run over, all tiles of them together.
struct ThreadLengths {
  int64_t longest = 0;          // of those that are known
  std::vector<Extent> unknown;  // each once
};

ThreadLengths thread_lengths(const loops::Kernel& kernel);

/// 1 where one of the lengths is more than `most`, else 0: a size of the kernel.
Extent is_any_longer(loops::Kernel& kernel, const ThreadLengths& lengths, int64_t most);

/// The only phase of the kernel has no iterations where `runs` is 0; where it is 1, it is as it was.
void run_where(loops::Kernel& kernel, const Extent& runs);

}  // namespace tenon::schedule
