// A region at known sizes: its stages, what is between them, and how it is cut. Plain data; tile_walk.h goes through
// it.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/tiles/rows.h"

namespace tenon::runtime {

/// A buffer that a stage of a region writes.
struct RegionBuffer {
  int slot = -1;
  int64_t elements = 0;
  int64_t element_bytes = 4;
  bool inside = false;    // no step outside of the region uses it: only a window of it is in memory
  bool copied = false;    // used outside, but strips compute some of its rows twice: each has a window, and copies what
                          // is its own of that
  int64_t window = 0;     // elements of a window
  int64_t window_at = 0;  // bytes from where the windows of a worker begin

  bool has_window() const { return inside || copied; }
};

/// What a stage does with one of those.
struct RegionUse {
  int buffer = 0;     // of TiledRegion::buffers
  int argument = 0;   // of the kernel
  uint32_t from = 0;  // of the uses of its part in the plan
  bool writes = false;
  uint32_t first = 0;  // of TiledRegion::touched
  uint32_t count = 0;
};

/// One kernel over its rows.
struct RegionStage {
  int part = 0;  // of Plan::parts
  RowCount rows;
  int64_t iterations = 1;      // of the grid, in one row
  double work = 0;             // of a row, in the units of kernel_facts.h
  int64_t constant_bytes = 0;  // that every tile reads: weights
  bool is_root = false;        // it writes something that is used outside of the region: all of its rows run, each once
  uint32_t first_use = 0;      // of TiledRegion::uses
  uint32_t uses = 0;
};

struct TiledRegion {
  int first_step = 0;
  int steps = 0;
  std::vector<RegionStage> stages = {};  // in an order in which they may run
  std::vector<RegionUse> uses = {};
  std::vector<TouchedRow> touched = {};
  std::vector<RegionBuffer> buffers = {};
  int driver = 0;            // the stage whose rows are cut; a root
  int64_t tile = 1;          // rows of the driver
  int64_t strips = 1;        // ranges of its rows that run apart from each other, each from its first tile to its last
  int64_t window_bytes = 0;  // of one worker
  int64_t workers = 1;
  int64_t offset = 0;  // of the windows of all of them, in the arena

  std::span<const RegionUse> uses_of(const RegionStage& stage) const {
    return std::span(uses).subspan(stage.first_use, stage.uses);
  }
  std::span<const TouchedRow> touched_by(const RegionUse& use) const {
    return std::span(touched).subspan(use.first, use.count);
  }
  const RegionStage& driving() const { return stages[static_cast<size_t>(driver)]; }
  /// Rows of the driver in a strip.
  Interval strip(int64_t i) const {
    const int64_t all = driving().rows.all;
    return {all * i / strips, all * (i + 1) / strips};
  }
  int64_t tiles() const { return tiles_before(strips); }
  /// Of all that is between the stages, whole.
  int64_t inside_bytes() const;
  /// In the strips before one.
  int64_t tiles_before(int64_t end) const;
};

}  // namespace tenon::runtime
