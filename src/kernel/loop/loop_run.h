// The interpreter of the loop IR: what runs kernels without LLVM, and the oracle for native code.
#pragma once

#include <cstdint>

#include "kernel/abi.h"
#include "kernel/loop/loop.h"

namespace tenon::loops {

/// Runs iterations [begin, end) of the grid of a phase, as a KernelFunction. Floats accumulate in f64 and round once,
/// at the end of the loop that begins them; functions are the exact ones of scalar_eval.h. argmax and argmin of nothing
/// give the largest i64, which is their identity. A lookup into nothing (size 0) reports and reads nothing.
void run(const Kernel& kernel, const KernelArgs* args, int64_t phase, int64_t begin, int64_t end, void* scratch);

/// Whether a call looks for races between the iterations that it runs (loop_races.h): in no kernel, in those whose axes
/// are bound to threads or blocks, or in all. A call that does not look costs nothing more.
enum class RaceSearch : uint8_t { never, in_blocks, always };

/// The kernel, verified and prepared, to be called any number of times by any number of threads. Loops bound to threads
/// run one after the other, each thread by thread.
KernelEntry interpreted(const Kernel& kernel, RaceSearch search = RaceSearch::in_blocks);

}  // namespace tenon::loops
