#include <atomic>

#include "runtime/memory/arena.h"
#include "runtime/memory/memory_pool.h"
#include "runtime/run/executor.h"
#include "runtime/run/failure.h"
#include "runtime/tiles/tile_walk.h"

namespace tenon::runtime {
namespace {

/// What the kernel of a stage is called with where nothing has a window.
void collect_arguments(const Run& run, const RegionStage& stage, std::vector<void*>& arguments) {
  const PartPlan& part = run.context.plan.parts[static_cast<size_t>(stage.part)];
  const size_t count = run.context.program.facts[static_cast<size_t>(part.kernel)].arguments.size();
  void* const* const whole = run.state.arguments.data() + part.first_argument;
  arguments.assign(whole, whole + count);
}

/// One strip on one thread, with windows of its own.
class StripRun {
 public:
  StripRun(const Run& run, const TiledRegion& region, std::byte* windows, Failure& failure)
      : run_(run), region_(region), windows_(windows), failure_(failure), walk_(region) {}

  /// Tiles are counted from the given one. False, before anything was lost: the windows are too small for these rows.
  bool go_through(const Interval& rows, int64_t first_tile) {
    walk_.begin(rows);
    for (int64_t tile = first_tile; walk_.next(); ++tile) {
      if (!walk_.is_sound()) {
        return false;
      }
      move_windows();
      for (size_t i = 0; i < region_.stages.size(); ++i) {
        if (!walk_.rows(i).empty()) {
          run_stage(i, tile);
          copy_own(region_.stages[i]);
        }
      }
    }
    return true;
  }

 private:
  std::byte* window(const RegionBuffer& buffer) const { return windows_ + buffer.window_at; }

  /// What later tiles read goes to the beginnings of the windows that are full.
  void move_windows() {
    for (size_t b = 0; b < region_.buffers.size(); ++b) {
      const TileWalk::Move& move = walk_.move(b);
      const RegionBuffer& buffer = region_.buffers[b];
      if (move.count > 0 && move.from > 0) {
        run_.context.device.copy(window(buffer), window(buffer) + move.from * buffer.element_bytes,
                                 move.count * buffer.element_bytes);
      }
    }
  }

  /// To where it is read outside of the region, what no other strip copies.
  void copy_own(const RegionStage& stage) {
    for (const RegionUse& use : region_.uses_of(stage)) {
      const auto b = static_cast<size_t>(use.buffer);
      const RegionBuffer& buffer = region_.buffers[b];
      const Interval own = use.writes && buffer.copied ? walk_.own(stage, use) : Interval{};
      if (!own.empty()) {
        run_.context.device.copy(
            run_.state.pointers[static_cast<size_t>(buffer.slot)] + own.begin * buffer.element_bytes,
            window(buffer) + (own.begin - walk_.origin(b)) * buffer.element_bytes, own.size() * buffer.element_bytes);
      }
    }
  }

  /// A buffer with a window is given to kernels as if all of it was there: what they touch is.
  void run_stage(size_t i, int64_t tile) {
    const RegionStage& stage = region_.stages[i];
    collect_arguments(run_, stage, arguments_);
    for (const RegionUse& use : region_.uses_of(stage)) {
      const auto b = static_cast<size_t>(use.buffer);
      const RegionBuffer& buffer = region_.buffers[b];
      if (buffer.has_window()) {
        arguments_[static_cast<size_t>(use.argument)] = window(buffer) - walk_.origin(b) * buffer.element_bytes;
      }
    }
    const Interval& rows = walk_.rows(i);
    call_kernel(run_,
                {.part = stage.part,
                 .begin = rows.begin * stage.iterations,
                 .end = rows.end * stage.iterations,
                 .arguments = arguments_.data(),
                 .order = tile * std::ssize(region_.stages) + static_cast<int64_t>(i),
                 .tile = tile},
                failure_);
  }

  const Run& run_;
  const TiledRegion& region_;
  std::byte* windows_;
  Failure& failure_;
  TileWalk walk_;
  std::vector<void*> arguments_;
};

/// The stages of a region one after the other, with whole buffers between them. What tiles have written before is
/// written again.
void run_step_by_step(const Run& run, const TiledRegion& region, bool parallel, Failure& failure) {
  int64_t bytes = 0;
  std::vector<int64_t> places;
  for (const RegionBuffer& buffer : region.buffers) {
    places.push_back(bytes);
    bytes += buffer.inside ? aligned(buffer.elements * buffer.element_bytes) : 0;
  }
  const PooledBlock block(run.context.memory, bytes);
  std::vector<void*> arguments;
  for (const RegionStage& stage : region.stages) {
    collect_arguments(run, stage, arguments);
    for (const RegionUse& use : region.uses_of(stage)) {
      const auto b = static_cast<size_t>(use.buffer);
      if (region.buffers[b].inside) {
        arguments[static_cast<size_t>(use.argument)] = block.get() + places[b];
      }
    }
    const auto run_rows = [&](int64_t begin, int64_t end, int) {
      call_kernel(run,
                  {.part = stage.part,
                   .begin = begin * stage.iterations,
                   .end = end * stage.iterations,
                   .arguments = arguments.data(),
                   .order = begin},
                  failure);
    };
    if (parallel) {
      run.state.waited_ns += run.context.workers->parallel_for(stage.rows.all, 1, run_rows, run.threads);
    } else {
      run_rows(0, stage.rows.all, 0);
    }
    failure.raise();
  }
}

}  // namespace

void run_region(const Run& run, const TiledRegion& region, bool parallel) {
  Failure failure;
  std::atomic<bool> fits = true;
  std::byte* const windows = run.arena + region.offset;
  const auto run_strips = [&](int64_t first, int64_t last, int worker) {
    for (int64_t strip = first; strip < last && fits.load(std::memory_order_relaxed); ++strip) {
      const int64_t place = region.strips <= region.workers ? strip : worker;
      if (!StripRun(run, region, windows + place * region.window_bytes, failure)
               .go_through(region.strip(strip), region.tiles_before(strip))) {
        fits.store(false, std::memory_order_relaxed);
      }
    }
  };
  // On one thread all rows are one strip, and what strips share is computed once; where windows fit strips alone, it is
  // computed again.
  const auto run_alone = [&] {
    if (!StripRun(run, region, windows, failure).go_through({0, region.driving().rows.all}, 0)) {
      run_strips(0, region.strips, 0);
    }
  };
  if (parallel && region.strips > 1) {
    run.state.waited_ns += run.context.workers->parallel_for(
        region.strips, 1,
        [&](int64_t first, int64_t last, int worker) {
          if (last - first == region.strips) {
            run_alone();
          } else {
            run_strips(first, last, worker);
          }
        },
        run.threads);
  } else {
    run_alone();
  }
  failure.raise();
  if (!fits) {
    run.s.too_small.set();
    run_step_by_step(run, region, parallel, failure);
  }
}

}  // namespace tenon::runtime
