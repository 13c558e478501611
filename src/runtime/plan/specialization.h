// Everything about a program that depends on sizes, for one binding of its names.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/plan/alone_time.h"
#include "runtime/plan/plan.h"
#include "runtime/tiles/choose_tiles.h"
#include "runtime/tiles/tiled_region.h"
#include "tenon/bindings.h"
#include "tenon/executable.h"

namespace tenon::runtime {

/// The grid of one part in one phase, cut into chunks.
struct Range {
  int part = 0;             // of Plan::parts
  int64_t count = 0;        // iterations
  int64_t grain = 1;        // iterations of a chunk
  int64_t first_chunk = 0;  // counted over the ranges of the launch
};

/// One phase of one step, or of several that run side by side.
struct Launch {
  int phase = 0;
  Span ranges;         // of Specialization::ranges
  int64_t chunks = 0;  // 1: too little work for a second thread
  double work = 0;     // of all chunks, in the units of work.h
  AloneTime alone = {};
};

/// What runs between two points at which everything before has ended and nothing after has begun.
struct Stage {
  int step = -1;       // the one step, -1 when there are several
  Span launches = {};  // of Specialization::launches; none for a step without kernels
  int region = -1;     // of Specialization::regions: the steps run tile by tile instead
};

/// What was decided of a region of the program, or of a part of one.
struct RegionChoice {
  int first_step = 0;
  int steps = 0;
  TileChoice choice = {};
  int region = -1;  // of Specialization::regions
};

/// That something was seen, by any of the threads that run a specialization.
class Seen {
 public:
  Seen() = default;
  Seen(const Seen& other) : seen_(other.get()) {}
  Seen& operator=(const Seen& other) {
    seen_.store(other.get(), std::memory_order_relaxed);
    return *this;
  }
  void set() const { seen_.store(true, std::memory_order_relaxed); }
  bool get() const { return seen_.load(std::memory_order_relaxed); }

 private:
  mutable std::atomic<bool> seen_ = false;
};

/// Nobody changes it after specialize() but for what is atomic in it; any number of threads may run it at
/// once. Flat lists, so that making one takes a few allocations however long the program is.
struct Specialization {
  Bindings bindings;
  std::vector<int64_t> values;   // of Plan::extents
  std::vector<int64_t> offsets;  // of each intermediate slot: in the arena
  std::vector<int64_t> sizes;    // of Plan::sizes: what kernels are called with
  std::vector<Range> ranges;
  std::vector<Launch> launches;
  std::vector<Stage> stages;  // in order
  std::vector<TiledRegion> regions;
  std::vector<RegionChoice> choices;   // in the order of steps
  bool lacks_choices = false;          // of tiles: nothing was known for sizes like these
  Seen too_small;                      // windows of a region: it ran step by step instead
  int64_t tiles = 0;                   // of all regions
  int64_t kept_bytes = 0;              // that their windows stand for
  MemoryReport memory;                 // what bodies need included
  std::vector<Specialization> bodies;  // of Plan::bodies
  int64_t bodies_offset = 0;           // in the arena: where control steps, which run one at a time, have their memory

  int64_t value(ExtentId id) const { return values[static_cast<size_t>(id)]; }
  std::vector<int64_t> values_of(const std::vector<ExtentId>& ids) const;
  int64_t bytes(const Slot& slot) const { return value(slot.elements) * static_cast<int64_t>(byte_size(slot.dtype)); }
  /// Whether an output is all of its buffer, in row-major order.
  bool is_whole(const Plan& plan, const OutputPlan& output) const;
  /// What it takes itself, about.
  int64_t byte_count() const;
};

/// Of `count` extents; nothing where one has no value at these sizes.
std::optional<std::vector<int64_t>> values_if_any(const ExtentProgram& program, size_t count,
                                                  std::span<const std::string> names, const Bindings& bindings);
/// Error: an extent without a value at these sizes.
std::vector<int64_t> values_of(const ExtentProgram& program, std::span<const Extent> extents,
                               std::span<const std::string> names, const Bindings& bindings);

class TileChoices;

/// Where the tiles of a specialization come from.
enum class Tiling : uint8_t {
  known,   // what was chosen for sizes like these before; where nothing was, steps run whole
  chosen,  // the same, but what is not known is chosen now, which may take milliseconds
  exact,   // and windows are sized by going through all tiles
};

/// `threads` are those that chunks are made for, `tiles` remembers what was chosen for regions at similar sizes;
/// neither they nor `tiling` change results. Errors: an unbound name, a negative size, sizes beyond 64 bits or beyond
/// the machine's memory.
Specialization specialize(const Program& program, const Plan& plan, const Bindings& bindings, int threads,
                          TileChoices& tiles, Tiling tiling = Tiling::chosen);

}  // namespace tenon::runtime
