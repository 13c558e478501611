#include "runtime/tiles/choose_tiles.h"

#include <algorithm>

#include "kernel/facts/kernel_facts.h"
#include "runtime/tiles/tile_walk.h"

namespace tenon::runtime {
namespace {

/// Nanoseconds for a byte that goes to the last cache or comes from there, and to memory.
constexpr double kFarByte = 0.02;
constexpr double kMemoryByte = 0.06;
/// ... and for one of weights, which are fetched ahead.
constexpr double kWeightByte = 0.025;
/// A call of a kernel: its prologue, and vectors that the end of a range leaves empty.
constexpr double kCall = 250;
/// The share of the second cache that windows may fill: what kernels read and write beside them has the rest, and often
/// a second thread of the same core.
constexpr double kWindowShare = 0.3;
/// Up to this share of it, what is between steps is found there as they are.
constexpr double kStayingShare = 0.5;
/// With more tiles than this, so many in the middle stand for all; and with more for memory, which are few: there the
/// first tile of a strip often begins an image, and what it computes ahead is not computed again.
constexpr int64_t kTilesLookedAt = 4;
constexpr int64_t kTilesOfMemoryLookedAt = 64;
/// What is saved must be more than what is lost by so much of it: both are guesses.
constexpr double kMargin = 0.25;
constexpr int64_t kStripsPerThread = 4;
constexpr int64_t kLineBytes = 64;
/// Of the time of a region, what threads wait for the last of them where each has one strip: they are never equally
/// fast. Steps by themselves have kStripsPerThread chunks for each.
constexpr double kUneven = 0.2;
/// For memory, so many tiles for each thread, in windows beyond the second cache; and the share of a region's time that
/// they may cost.
constexpr int64_t kTilesForMemory = 2 * kStripsPerThread;
constexpr double kCostOfMemory = 0.01;
/// What cannot save this share of a region's time is not looked at further.
constexpr double kLeastShare = 0.03;

class Chooser {
 public:
  Chooser(TiledRegion& region, const TileTarget& target) : region_(region), target_(target) {}

  TileChoice run() {
    if (const auto verdict = why_not(); verdict != TileChoice::Verdict::tiled) {
      return {.verdict = verdict};
    }
    region_.workers = target_.threads;
    return target_.rows > 0 ? take(target_.rows) : choose();
  }

  TileChoice run_for_memory() {
    if (const auto verdict = why_not(); verdict != TileChoice::Verdict::tiled) {
      return {.verdict = verdict};
    }
    region_.workers = target_.threads;
    region_.tile = std::max<int64_t>(1, driven() / (kTilesForMemory * target_.threads));
    set_strips(target_.threads == 1 ? 1 : kStripsPerThread * target_.threads);
    TileChoice choice = judge(kTilesOfMemoryLookedAt);
    choice.for_memory = true;
    if (-choice.net() > kCostOfMemory * once() / loops::kWorkOfANanosecond) {
      choice.verdict = TileChoice::Verdict::costs_more;
    }
    return choice;
  }

 private:
  TileChoice::Verdict why_not() const {
    const auto has_no_rows = [](const RegionStage& stage) { return stage.rows.all <= 0; };
    if (std::ranges::any_of(region_.stages, has_no_rows) || region_.inside_bytes() == 0) {
      return TileChoice::Verdict::empty;
    }
    if (!is_ordered(region_)) {
      return TileChoice::Verdict::unordered;
    }
    return target_.rows == 0 && region_.inside_bytes() <= cached_bytes(target_) ? TileChoice::Verdict::fits_already
                                                                                : TileChoice::Verdict::tiled;
  }

  int64_t driven() const { return region_.driving().rows.all; }

  void set_strips(int64_t strips) { region_.strips = std::clamp<int64_t>(strips, 1, driven()); }

  /// With tiles of so many rows, whether it pays or not.
  TileChoice take(int64_t rows) {
    region_.tile = std::min(rows, driven());
    set_strips(target_.threads == 1 ? 1 : kStripsPerThread * target_.threads);
    return judge();
  }

  TileChoice choose() {
    TileChoice best{.verdict = TileChoice::Verdict::saves_little, .saved_ns = most_saved()};
    if (!may_pay(best.saved_ns, once())) {
      return best;
    }
    set_strips(target_.threads);
    // About twice as many rows as fit, of which a half are tried from there on.
    const double fitting =
        kWindowShare * static_cast<double>(target_.cache) / static_cast<double>(region_.inside_bytes());
    const auto rows = static_cast<int64_t>(2 * fitting * static_cast<double>(driven()));
    region_.tile = std::clamp<int64_t>(rows, 1, std::max<int64_t>(1, driven() / region_.strips));
    for (best = judge(); best.saved_ns == 0 && region_.tile > 1; best = judge()) {
      region_.tile /= 2;
    }
    const int64_t strips = region_.strips;
    for (const int64_t each : {int64_t{2}, kStripsPerThread}) {
      set_strips(target_.threads == 1 ? 1 : each * target_.threads);
      if (region_.strips == strips || best.saved_ns == 0 || region_.strips * region_.tile > driven()) {
        break;
      }
      const TileChoice choice = judge();
      if (choice.net() <= best.net()) {
        break;
      }
      best = choice;
    }
    set_strips(best.strips);
    if (best.net() <= kMargin * best.saved_ns) {
      best.verdict = TileChoice::Verdict::costs_more;
    }
    return best;
  }

  /// Nanoseconds, if nothing of what is between the stages leaves the second cache.
  double most_saved() const { return runtime::most_saved(target_, region_.inside_bytes(), bytes_between()); }

  /// Work of all rows, each once.
  double once() const {
    double work = 0;
    for (const RegionStage& stage : region_.stages) {
      work += stage.work * static_cast<double>(stage.rows.all);
    }
    return work;
  }

  /// What tiles and strips as they are now cost and give.
  TileChoice judge(int64_t looked_at = kTilesLookedAt) const {
    const auto tiles = static_cast<double>(region_.tiles());
    int64_t live = 0;
    int64_t weights = 0;
    TileChoice choice{
        .verdict = TileChoice::Verdict::tiled, .kept_bytes = region_.inside_bytes(), .strips = region_.strips};
    if (target_.threads > 1) {
      choice.waiting_ns = uneven() * once() / loops::kWorkOfANanosecond;
    }
    choice.repeated_ns = walk(live, looked_at) / loops::kWorkOfANanosecond;
    for (const RegionStage& stage : region_.stages) {
      weights += stage.constant_bytes;
    }
    const auto cache = static_cast<double>(target_.cache);
    if (static_cast<double>(live) <= kWindowShare * cache) {
      choice.saved_ns = most_saved();
    }
    choice.call_ns = tiles * static_cast<double>(region_.stages.size()) * kCall;
    if (static_cast<double>(live + weights) > cache) {
      choice.weights_ns = tiles * static_cast<double>(weights) * kWeightByte;
    }
    return choice;
  }

  /// Of the time of the region, what threads wait for the one that has most to do.
  double uneven() const {
    const int64_t rows = (driven() + region_.strips - 1) / region_.strips;
    const int64_t strips = (region_.strips + target_.threads - 1) / target_.threads;
    return static_cast<double>(rows * strips * target_.threads) / static_cast<double>(driven()) - 1 +
           kUneven * (1 / static_cast<double>(strips) - 1 / static_cast<double>(kStripsPerThread));
  }

  /// Work that is done again; the most bytes in windows.
  double walk(int64_t& live, int64_t looked_at) const {
    const int64_t middle = region_.strips / 2;
    const Interval strip = region_.strip(middle);
    const bool has_one_tile = strip.size() <= region_.tile;  // which is no measure of what others do
    const bool all = region_.tiles() <= looked_at || has_one_tile;
    const WalkReport report = all ? walk_all(region_) : walk_some(region_, strip, kTilesLookedAt);
    for (size_t b = 0; b < region_.buffers.size(); ++b) {
      live += region_.buffers[b].inside ? report.live[b] * region_.buffers[b].element_bytes : 0;
    }
    if (all) {
      return std::max(0.0, report.work - once());
    }
    const double other = (report.work - report.most_tile_work) / static_cast<double>(report.tiles - 1);
    return static_cast<double>(region_.strips - 1) * std::max(0.0, report.most_tile_work - other);
  }

  /// Written once, and read by each stage that reads it.
  int64_t bytes_between() const {
    int64_t bytes = 0;
    for (const RegionUse& use : region_.uses) {
      const RegionBuffer& buffer = region_.buffers[static_cast<size_t>(use.buffer)];
      bytes += buffer.inside ? buffer.elements * buffer.element_bytes : 0;
    }
    return bytes;
  }

  TiledRegion& region_;
  const TileTarget& target_;
};

/// Whether what each strip copies of a buffer lies behind what the one before it copies.
bool strips_are_apart(const TiledRegion& region, int buffer) {
  int64_t end = 0;
  for (int64_t i = 0; i < region.strips; ++i) {
    Interval own;
    for (const RegionStage& stage : region.stages) {
      for (const RegionUse& use : region.uses_of(stage)) {
        own = use.writes && use.buffer == buffer ? hull(own, own_elements(region, stage, use, region.strip(i))) : own;
      }
    }
    if (!own.empty() && own.begin < end) {
      return false;
    }
    end = std::max(end, own.end);
  }
  return true;
}

/// Give windows to what stages write of which strips run some rows twice. False: strips would copy over each other.
bool copy_what_overlaps(TiledRegion& region, const std::vector<bool>& overlap) {
  for (size_t i = 0; i < region.stages.size(); ++i) {
    for (const RegionUse& use : region.uses_of(region.stages[i])) {
      RegionBuffer& buffer = region.buffers[static_cast<size_t>(use.buffer)];
      if (overlap[i] && use.writes && !buffer.has_window()) {
        buffer.copied = strips_are_apart(region, use.buffer);
        if (!buffer.copied) {
          return false;
        }
      }
    }
  }
  return true;
}

}  // namespace

double most_saved(const TileTarget& target, int64_t inside_bytes, int64_t moved_bytes) {
  return (inside_bytes <= target.last_cache / 2 ? kFarByte : kMemoryByte) * static_cast<double>(moved_bytes);
}

bool may_pay(double saved_ns, double work) { return saved_ns >= kLeastShare * work / loops::kWorkOfANanosecond; }

int64_t cached_bytes(const TileTarget& target) {
  return static_cast<int64_t>(kStayingShare * static_cast<double>(target.cache)) * target.threads;
}

bool is_ordered(const TiledRegion& region) {
  return std::ranges::all_of(region.stages, [&](const RegionStage& stage) {
    return std::ranges::all_of(region.uses_of(stage),
                               [&](const RegionUse& use) { return goes_up(region.touched_by(use), stage.rows); });
  });
}

TileChoice choose_tiles(TiledRegion& region, const TileTarget& target) { return Chooser(region, target).run(); }

TileChoice choose_tiles_for_memory(TiledRegion& region, const TileTarget& target) {
  return Chooser(region, target).run_for_memory();
}

bool settle_tiles(TiledRegion& region) {
  for (RegionBuffer& buffer : region.buffers) {
    buffer.window = 0;
    buffer.copied = false;
  }
  const WalkReport all = walk_all(region);
  if (!all.is_sound || !copy_what_overlaps(region, all.overlap)) {
    return false;
  }
  for (size_t b = 0; b < region.buffers.size(); ++b) {
    region.buffers[b].window = all.live[b] + all.live[b] / 2;
  }
  return place_windows(region);
}

bool place_windows(TiledRegion& region) {
  region.window_bytes = 0;
  for (size_t b = 0; b < region.buffers.size(); ++b) {
    RegionBuffer& buffer = region.buffers[b];
    if (buffer.copied && !strips_are_apart(region, static_cast<int>(b))) {
      return false;
    }
    buffer.window = buffer.has_window() ? std::min(buffer.window, buffer.elements) : 0;
    buffer.window_at = region.window_bytes;
    region.window_bytes += (buffer.window * buffer.element_bytes + kLineBytes - 1) / kLineBytes * kLineBytes;
  }
  region.workers = std::min(region.workers, region.strips);
  return true;
}

bool verify_tiles(const TiledRegion& region) {
  const WalkReport report = walk_all(region);
  const auto is_shared = [&](const RegionUse& use) {
    return use.writes && !region.buffers[static_cast<size_t>(use.buffer)].has_window();
  };
  for (size_t i = 0; i < region.stages.size(); ++i) {
    if (report.overlap[i] && std::ranges::any_of(region.uses_of(region.stages[i]), is_shared)) {
      return false;
    }
  }
  return report.is_sound;
}

}  // namespace tenon::runtime
