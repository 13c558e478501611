// Runs the stages of a specialization once everything has its place.
#pragma once

#include <span>

#include "base/pool.h"
#include "kernel/abi.h"
#include "kernel/program.h"
#include "runtime/memory_pool.h"
#include "runtime/plan.h"
#include "runtime/run_state.h"
#include "runtime/specialization.h"
#include "runtime/watch.h"

namespace tenon::runtime {

/// What runs share. All of it outlives them.
struct Context {
  const Program& program;
  const std::vector<KernelEntry>& code;
  const Plan& plan;
  Pool& pool;
  MemoryPool& memory;
};

/// One run: every slot has memory, every kernel its arguments.
struct Run {
  const Context& context;
  const Specialization& s;
  RunState& state;
  int threads = 0;         // at most so many; 0: all
  Watch* watch = nullptr;  // where somebody watches
};

/// All stages in order. The first error ends the run after what is under way has drained: an Error of a step,
/// Cancelled, or what a host function threw. Both executors give the same bits.
using Executor = void (*)(const Run& run);

/// On this thread alone.
void execute_inline(const Run& run);
/// Chunks of a stage on the pool's threads, unless there is too little work.
void execute_parallel(const Run& run);

/// A step that library/ has.
void run_library_step(const Run& run, int step);
/// A step that is a function of whole arrays.
void run_host_step(const Run& run, int step);

}  // namespace tenon::runtime
