// From tile to tile of a region: which rows of each stage run, and where what is between them lies.
#pragma once

#include <vector>

#include "runtime/tiles/tiled_region.h"

namespace tenon::runtime {

/// Goes through one strip. What a tile needs of earlier rows is still there from the tiles before it; at the beginning
/// of a strip it is computed, also where another strip computes it too.
class TileWalk {
 public:
  /// A part of a window that moves to its beginning before the tile runs.
  struct Move {
    int64_t from = 0;  // elements of the window
    int64_t count = 0;
  };

  explicit TileWalk(const TiledRegion& region);

  void begin(const Interval& strip);
  /// The next tile; false: there is none.
  bool next();

  /// Of what a stage writes to a buffer in this tile, the elements that are this strip's own.
  Interval own(const RegionStage& stage, const RegionUse& use) const;
  /// Rows of a stage in this tile.
  const Interval& rows(size_t stage) const { return rows_[stage]; }
  /// Elements of a buffer that are used in this tile, or are kept for later ones.
  const Interval& live(size_t buffer) const { return live_[buffer]; }
  /// The element of a buffer that lies at the beginning of its window.
  int64_t origin(size_t buffer) const { return origins_[buffer]; }
  const Move& move(size_t buffer) const { return moves_[buffer]; }
  /// All rows of a stage since the strip began.
  const Interval& done(size_t stage) const { return done_[stage]; }
  /// Whether all that tiles read so far was there, and fitted into the windows.
  bool is_sound() const { return is_sound_; }

 private:
  void find_rows();
  void find_live();
  void place();

  const TiledRegion& region_;
  Interval strip_;
  int64_t at_ = 0;  // rows of the driver that have run
  std::vector<Interval> rows_, done_;
  // Of buffers: what this tile reads; writes; is in memory; may be read, as it was written and kept; what rows that
  // have not run may read.
  std::vector<Interval> read_, written_, live_, there_, later_;
  std::vector<int64_t> ends_;  // before this tile, of what was written
  std::vector<int64_t> origins_;
  std::vector<Move> moves_;
  bool is_sound_ = true;
};

/// Elements of a buffer that belong to one strip alone, of those that a stage writes.
Interval own_elements(const TiledRegion& region, const RegionStage& stage, const RegionUse& use, const Interval& strip);

/// What going through a region, or a part of one, comes to.
struct WalkReport {
  bool is_sound = true;       // windows of 0 elements are not looked at
  std::vector<bool> overlap;  // of stages: roots of which strips run some rows twice
  int64_t tiles = 0;
  int64_t calls = 0;
  double work = 0;            // of all rows that run
  double most_tile_work = 0;  // of the tile with most: the first of a strip, where halos are computed
  std::vector<int64_t> live;  // of buffers: the most elements that a window must hold
};
/// All strips, from their first tile to their last.
WalkReport walk_all(const TiledRegion& region);
/// The first tiles of one strip.
WalkReport walk_some(const TiledRegion& region, const Interval& strip, int64_t tiles);

}  // namespace tenon::runtime
