// Runs the stages of a specialization once everything has its place.
#pragma once

#include <span>

#include "base/pool.h"
#include "kernel/abi.h"
#include "kernel/program/program.h"
#include "runtime/memory/memory_pool.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/specialization.h"
#include "runtime/run/run_state.h"
#include "runtime/run/watch.h"

namespace tenon::runtime {

/// What runs share. All of it outlives them.
struct Context {
  const Program& program;
  std::span<const KernelEntry> code;  // of the program's own kernels
  const Plan& plan;
  Pool& pool;
  MemoryPool& memory;
  std::vector<Context> bodies;  // of Plan::bodies
};
/// `code` is for all_kernels() of the program.
Context make_context(const Program& program, std::span<const KernelEntry> code, const Plan& plan, Pool& pool,
                     MemoryPool& memory);

/// One run: every slot has memory, every kernel its arguments.
struct Run {
  const Context& context;
  const Specialization& s;
  RunState& state;
  int threads = 0;         // at most so many; 0: all
  Watch* watch = nullptr;  // where somebody watches
  std::byte* arena = nullptr;
  std::byte* memory_of_bodies = nullptr;
  int within = -1;  // of a body: the step of the outermost program that it belongs to

  /// The number under which a step is watched.
  int watched(int step) const { return within < 0 ? step : within; }
};

/// All stages in order. The first error ends the run after what is under way has drained: an Error of a step, or
/// Cancelled. Both executors give the same bits.
using Executor = void (*)(const Run& run);

/// On this thread alone.
void execute_inline(const Run& run);
/// Chunks of a stage on the pool's threads, unless there is too little work.
void execute_parallel(const Run& run);
/// The one for so many threads.
inline Executor executor_for(const Pool& pool, int threads) {
  return threads == 1 || pool.size() == 1 ? execute_inline : execute_parallel;
}

/// What a trace says of a step of a body; nothing of others.
inline Watch::Inside inside(const Run& run, int step) {
  return run.within < 0 ? Watch::Inside{} : Watch::Inside{.context = &run.context, .s = &run.s, .step = step};
}

/// Iterations [begin, end) of the grid of a phase of a part; `arguments` are its buffers, `order` is what decides which
/// of several failures is reported.
struct KernelCall {
  int part = 0;
  int phase = 0;
  int64_t begin = 0;
  int64_t end = 0;
  void* const* arguments = nullptr;
  int64_t order = 0;
  int64_t tile = -1;  // of a region
};
class Failure;
/// Before the eyes of whoever watches.
void call_kernel(const Run& run, const KernelCall& call, Failure& failure);

/// The steps of a region, tile by tile: strips of them on the pool's threads, where `parallel`.
void run_region(const Run& run, const TiledRegion& region, bool parallel);

/// A step that library/ has.
void run_library_step(const Run& run, int step);
/// A step that runs bodies.
void run_control_step(const Run& run, int step);

}  // namespace tenon::runtime
