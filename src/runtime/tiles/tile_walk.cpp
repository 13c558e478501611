#include "runtime/tiles/tile_walk.h"

#include <algorithm>
#include <limits>

namespace tenon::runtime {
namespace {

/// Windows begin at elements whose place in a line of memory is that of the whole buffer.
constexpr int64_t kLineElements = 64;

/// What rows of a stage touch of a buffer.
Interval touched_elements(const TiledRegion& region, const RegionStage& stage, const RegionUse& use,
                          const Interval& rows) {
  const Interval named = elements_of(region.touched_by(use), stage.rows, rows);
  return {std::max<int64_t>(named.begin, 0),
          std::min(named.end, region.buffers[static_cast<size_t>(use.buffer)].elements)};
}

/// Rows of a stage that go with rows of the driver.
Interval share_of(const TiledRegion& region, const RegionStage& stage, const Interval& rows) {
  const int64_t all = region.driving().rows.all;
  return {stage.rows.all * rows.begin / all, stage.rows.all * rows.end / all};
}

Interval common(const Interval& a, const Interval& b) { return {std::max(a.begin, b.begin), std::min(a.end, b.end)}; }

}  // namespace

Interval own_elements(const TiledRegion& region, const RegionStage& stage, const RegionUse& use,
                      const Interval& strip) {
  return touched_elements(region, stage, use, share_of(region, stage, strip));
}

int64_t TiledRegion::inside_bytes() const {
  int64_t bytes = 0;
  for (const RegionBuffer& buffer : buffers) {
    bytes += buffer.inside ? buffer.elements * buffer.element_bytes : 0;
  }
  return bytes;
}

int64_t TiledRegion::tiles_before(int64_t end) const {
  // Strips have `shortest` rows or one more.
  const int64_t rows = driving().rows.all;
  const int64_t shortest = rows / strips;
  const int64_t tiles = (shortest + tile - 1) / tile;
  if (shortest > 0 && shortest % tile != 0) {  // one row more adds no tile
    return end * tiles;
  }
  const int64_t longer = strip(end - 1).end - end * shortest;  // how many of them are longer
  return end == 0 ? 0 : end * tiles + longer;
}

TileWalk::TileWalk(const TiledRegion& region)
    : region_(region),
      rows_(region.stages.size()),
      done_(region.stages.size()),
      read_(region.buffers.size()),
      written_(region.buffers.size()),
      live_(region.buffers.size()),
      there_(region.buffers.size()),
      later_(region.buffers.size()),
      ends_(region.buffers.size()),
      origins_(region.buffers.size()),
      moves_(region.buffers.size()) {}

void TileWalk::begin(const Interval& strip) {
  strip_ = strip;
  at_ = strip.begin;
  is_sound_ = true;
  std::ranges::fill(done_, Interval{-1, -1});
  std::ranges::fill(there_, Interval{});
  std::ranges::fill(origins_, -1);
}

bool TileWalk::next() {
  if (at_ >= strip_.end) {
    return false;
  }
  find_rows();
  find_live();
  place();
  for (size_t i = 0; i < rows_.size(); ++i) {
    if (!rows_[i].empty()) {
      done_[i] = {done_[i].begin < 0 ? rows_[i].begin : done_[i].begin, rows_[i].end};
    }
  }
  at_ += region_.tile;
  return true;
}

Interval TileWalk::own(const RegionStage& stage, const RegionUse& use) const {
  const auto at = static_cast<size_t>(&stage - region_.stages.data());
  const Interval rows = common(rows_[at], share_of(region_, stage, strip_));
  return rows.empty() ? Interval{} : touched_elements(region_, stage, use, rows);
}

/// From the last stage to the first: rows that have not run, of those that this tile's rows of later stages read.
void TileWalk::find_rows() {
  const Interval driven{at_, std::min(at_ + region_.tile, strip_.end)};
  std::ranges::fill(read_, Interval{});
  for (size_t i = region_.stages.size(); i-- > 0;) {
    const RegionStage& stage = region_.stages[i];
    Interval rows = stage.is_root ? share_of(region_, stage, driven) : Interval{};
    for (const RegionUse& use : region_.uses_of(stage)) {
      if (use.writes) {
        rows = hull(rows, rows_of(region_.touched_by(use), stage.rows, read_[static_cast<size_t>(use.buffer)]));
      }
    }
    if (done_[i].begin >= 0) {
      rows.begin = done_[i].end;
    }
    rows_[i] = rows;
    for (const RegionUse& use : region_.uses_of(stage)) {
      if (!use.writes) {
        Interval& read = read_[static_cast<size_t>(use.buffer)];
        read = hull(read, touched_elements(region_, stage, use, rows));
      }
    }
  }
}

/// What this tile reads and writes, and what is there and will be read by rows that have not run.
void TileWalk::find_live() {
  std::ranges::fill(written_, Interval{});
  std::ranges::fill(later_, Interval{});
  for (size_t i = 0; i < region_.stages.size(); ++i) {
    const RegionStage& stage = region_.stages[i];
    for (const RegionUse& use : region_.uses_of(stage)) {
      const auto b = static_cast<size_t>(use.buffer);
      if (use.writes) {
        written_[b] = hull(written_[b], touched_elements(region_, stage, use, rows_[i]));
      } else if (rows_[i].empty() && done_[i].end < stage.rows.all) {
        const int64_t row = std::max<int64_t>(done_[i].end, 0);
        later_[b] = hull(later_[b], touched_elements(region_, stage, use, {row, row + 1}));
      }
    }
  }
  for (size_t b = 0; b < live_.size(); ++b) {
    const Interval wanted = hull(read_[b], later_[b]);
    Interval& there = there_[b];
    ends_[b] = there.end;
    if (there.empty()) {
      there = {read_[b].empty() ? written_[b].begin : read_[b].begin, written_[b].end};
    } else {
      there.end = std::max(there.end, written_[b].end);
    }
    is_sound_ = is_sound_ && (read_[b].empty() || (read_[b].begin >= there.begin && read_[b].end <= there.end));
    if (!wanted.empty()) {
      there.begin = std::max(there.begin, wanted.begin);
    }
    live_[b] = hull(there, written_[b]);
  }
}

void TileWalk::place() {
  for (size_t b = 0; b < live_.size(); ++b) {
    const RegionBuffer& buffer = region_.buffers[b];
    moves_[b] = {};
    if (!buffer.has_window() || buffer.window == 0 || live_[b].empty() ||
        (origins_[b] >= 0 && live_[b].begin >= origins_[b] && live_[b].end - origins_[b] <= buffer.window)) {
      continue;
    }
    const int64_t origin = live_[b].begin / kLineElements * kLineElements;
    is_sound_ = is_sound_ && origin >= origins_[b] && live_[b].end - origin <= buffer.window;
    if (origins_[b] >= 0 && ends_[b] > origin) {
      moves_[b] = {.from = origin - origins_[b], .count = ends_[b] - origin};
    }
    origins_[b] = origin;
  }
}

namespace {

class Reporter {
 public:
  explicit Reporter(const TiledRegion& region) : region_(region), walk_(region) {
    report_.live.assign(region.buffers.size(), 0);
    report_.overlap.assign(region.stages.size(), false);
    ended_.assign(region.stages.size(), 0);
  }

  void go_through(const Interval& strip, int64_t most_tiles) {
    walk_.begin(strip);
    for (int64_t tile = 0; tile < most_tiles && walk_.next(); ++tile) {
      add_tile();
    }
    report_.is_sound = report_.is_sound && walk_.is_sound();
    for (size_t i = 0; i < region_.stages.size(); ++i) {
      if (region_.stages[i].is_root && walk_.done(i).begin >= 0) {
        report_.overlap[i] = report_.overlap[i] || walk_.done(i).begin != ended_[i];
        ended_[i] = walk_.done(i).end;
      }
    }
  }

  WalkReport finish() { return std::move(report_); }

 private:
  void add_tile() {
    ++report_.tiles;
    double work = 0;
    for (size_t i = 0; i < region_.stages.size(); ++i) {
      report_.calls += walk_.rows(i).empty() ? 0 : 1;
      work += static_cast<double>(walk_.rows(i).size()) * region_.stages[i].work;
    }
    report_.work += work;
    report_.most_tile_work = std::max(report_.most_tile_work, work);
    for (size_t b = 0; b < region_.buffers.size(); ++b) {
      const Interval& live = walk_.live(b);
      if (!live.empty()) {
        report_.live[b] = std::max(report_.live[b], live.end - live.begin / kLineElements * kLineElements);
      }
    }
  }

  const TiledRegion& region_;
  TileWalk walk_;
  WalkReport report_;
  std::vector<int64_t> ended_;
};

}  // namespace

WalkReport walk_all(const TiledRegion& region) {
  Reporter reporter(region);
  for (int64_t i = 0; i < region.strips; ++i) {
    reporter.go_through(region.strip(i), std::numeric_limits<int64_t>::max());
  }
  return reporter.finish();
}

WalkReport walk_some(const TiledRegion& region, const Interval& strip, int64_t tiles) {
  Reporter reporter(region);
  reporter.go_through(strip, tiles);
  return reporter.finish();
}

}  // namespace tenon::runtime
