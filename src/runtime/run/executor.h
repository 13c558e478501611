// Runs the stages of a specialization once everything has its place.
#pragma once

#include <span>

#include "devices/device.h"
#include "kernel/program/program.h"
#include "runtime/memory/memory_pool.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/specialization.h"
#include "runtime/run/run_state.h"
#include "runtime/run/watch.h"

namespace tenon::runtime {

class Announcer;

/// What runs share. All of it outlives them.
struct Context {
  const Program& program;
  const Plan& plan;
  devices::Device& device;
  bool is_host = true;      // Device::is_host() and
  Pool* workers = nullptr;  // Device::workers(), which each run asks for often
  const devices::LoadedCode& code;
  size_t first_kernel = 0;  // of the code: the program's own kernels begin there, those of bodies follow
  MemoryPool& memory;
  std::vector<std::shared_ptr<std::byte[]>> uploads;  // of constants, where the device's memory is not the host's
  std::vector<std::byte*> constants;                  // where they lie on the device
  std::vector<Context> bodies;                        // of Plan::bodies
};
/// Constants go to the device.
Context make_context(const Program& program, const Plan& plan, devices::Device& device, const devices::LoadedCode& code,
                     size_t first_kernel, MemoryPool& memory);

/// One run: every slot has memory, every kernel its arguments.
struct Run {
  const Context& context;
  const Specialization& s;
  RunState& state;
  int threads = 0;         // at most so many; 0: all
  Watch* watch = nullptr;  // where somebody watches
  std::byte* arena = nullptr;
  std::byte* memory_of_bodies = nullptr;
  Announcer* announcer = nullptr;  // where somebody is told of outputs; not of a body
  int within = -1;                 // of a body: the step of the outermost program that it belongs to

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
inline Executor executor_for(const Context& context, int threads) {
  const Pool* const workers = context.workers;
  return workers == nullptr || threads == 1 || workers->size() == 1 ? execute_inline : execute_parallel;
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
/// All that was launched is done, and its failures are reported.
void wait_for_launches(const Run& run, Failure& failure);
/// Before the eyes of whoever watches.
void call_kernel(const Run& run, const KernelCall& call, Failure& failure);

/// The steps of a region, tile by tile: strips of them on the pool's threads, where `parallel`.
void run_region(const Run& run, const TiledRegion& region, bool parallel);

/// A step that library/ has.
void run_library_step(const Run& run, int step);
/// A step that runs bodies.
void run_control_step(const Run& run, int step);

}  // namespace tenon::runtime
