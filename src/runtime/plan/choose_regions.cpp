#include "runtime/plan/choose_regions.h"

#include <algorithm>
#include <cstdint>

#include "runtime/plan/launches.h"
#include "runtime/plan/live_bytes.h"
#include "runtime/plan/region_maker.h"

namespace tenon::runtime {
namespace {

/// An intermediate is written once and read about so often at most.
constexpr int64_t kMostUses = 3;
/// The part of the memory of its steps that a region must save where it saves no time.
constexpr double kLeastOfMemory = 0.25;

class RegionChooser {
 public:
  RegionChooser(const Program& program, const Plan& plan, int threads, const Specialization& s)
      : program_(program),
        plan_(plan),
        s_(s),
        maker_(program, plan, s),
        live_(plan, s),
        work_(work_of_steps(plan, s)),
        target_(tile_target(program, threads)) {
    for (const Slot& slot : plan.slots) {
      if (slot.memory == Memory::output && slot.in_place >= 0) {
        states_.push_back(&slot);
      }
    }
  }

  std::vector<RegionCut> run() {
    for (const Region& region : program_.regions) {
      const int end = region.first + region.count;
      for (int first = region.first; first < end;) {
        cuts_.push_back(choose_from(first, end));
        first += cuts_.back().choice.steps;
      }
    }
    return std::move(cuts_);
  }

 private:
  /// The best region that begins with a step.
  RegionCut choose_from(int first, int end) {
    if (const RegionCut* const known = cut_like(first)) {
      RegionCut same = *known;
      same.choice.first_step = first;
      return same;
    }
    TiledRegion best;
    RegionChoice chosen = fastest_from(first, end, best);
    if (best.steps > 0 && !settle(best, chosen.choice)) {
      best.steps = 0;
    }
    if (best.steps == 0 && target_.rows == 0 && is_large(first)) {
      smallest_from(first, end, chosen, best);
    }
    chosen.steps = std::max(best.steps, 1);
    return best.steps > 0 ? cut_of(chosen, best) : RegionCut{.choice = chosen};
  }

  static RegionCut cut_of(const RegionChoice& chosen, const TiledRegion& region) {
    RegionCut cut{.choice = chosen, .tile = region.tile};
    const auto rows = static_cast<double>(region.driving().rows.all);
    for (const RegionBuffer& buffer : region.buffers) {
      cut.windows.push_back({.rows = static_cast<double>(buffer.window) * rows / static_cast<double>(buffer.elements),
                             .copied = buffer.copied});
    }
    return cut;
  }

  /// What was chosen for a step that this one is like, with as much in memory at each of the steps behind it.
  const RegionCut* cut_like(int first) const {
    const int like = plan_.steps[static_cast<size_t>(first)].like;
    const auto known =
        std::ranges::lower_bound(cuts_, like, {}, [](const RegionCut& cut) { return cut.choice.first_step; });
    return known != cuts_.end() && known->choice.first_step == like && live_.is_like(like, first) ? &*known : nullptr;
  }

  /// Of the regions that begin with a step the one that saves most time; `best` has no steps where none does.
  RegionChoice fastest_from(int first, int end, TiledRegion& best) {
    RegionChoice chosen{.first_step = first, .steps = 1};
    int64_t inside = 0;
    double work = work_[static_cast<size_t>(first)];
    int since = 0;  // it was found
    // Why not: what is said of the shortest region that has something inside.
    const auto keep_reason = [&](const TileChoice& choice) {
      const auto verdict = chosen.choice.verdict;
      if (verdict == TileChoice::Verdict::empty || verdict == TileChoice::Verdict::fits_already) {
        chosen.choice = choice;
      }
    };
    for (int last = first + 1; last < last_from(first, end) && since < 2; ++last, ++since) {
      inside += bytes_that_end(first, last);
      work += work_[static_cast<size_t>(last)];
      if (inside <= 0 || (target_.rows == 0 && inside <= cached_bytes(target_))) {
        since = -1;
        keep_reason({.verdict = inside > 0 ? TileChoice::Verdict::fits_already : TileChoice::Verdict::empty});
        continue;
      }
      const double most = most_saved(target_, inside, kMostUses * inside);
      if (target_.rows == 0 && !may_pay(most, work)) {
        keep_reason({.verdict = TileChoice::Verdict::saves_little, .saved_ns = most});
        continue;
      }
      TiledRegion region = maker_.make(first, last + 1);
      const TileChoice choice = choose_tiles(region, target_);
      if (choice.tiled() && (best.steps == 0 || target_.rows > 0 || choice.net() > chosen.choice.net())) {
        chosen.choice = choice;
        best = std::move(region);
        since = -1;
      } else if (best.steps == 0) {
        keep_reason(choice);
      }
      since = target_.rows > 0 ? -1 : since;
    }
    return chosen;
  }

  /// Of the regions that begin with a step and take much less memory than their steps, the one that takes least.
  void smallest_from(int first, int end, RegionChoice& chosen, TiledRegion& best) {
    int64_t inside = 0;
    int64_t before = live_.at(first);
    int64_t least = INT64_MAX;
    for (int last = first + 1; last < last_from(first, end); ++last) {
      inside += bytes_that_end(first, last);
      before = std::max(before, live_.at(last));
      if (static_cast<double>(inside) < kLeastOfMemory * static_cast<double>(before)) {
        continue;
      }
      TiledRegion region = maker_.make(first, last + 1);
      TileChoice choice = choose_tiles_for_memory(region, target_);
      if (choice.tiled() && settle(region, choice)) {
        const int64_t bytes = live_.during(region);
        if (bytes < least && static_cast<double>(bytes) <= (1 - kLeastOfMemory) * static_cast<double>(before)) {
          least = bytes;
          chosen.choice = choice;
          best = std::move(region);
        }
      }
    }
  }

  /// Where regions that begin with a step end at most.
  int last_from(int first, int end) const {
    int last = first;
    while (last < std::min(end, first + kMostRegionSteps) && !takes_state(last)) {
      ++last;
    }
    return last;
  }

  /// Whether it can be cut as was chosen; else the verdict says why not.
  bool settle(TiledRegion& region, TileChoice& choice) {
    if (!settle_tiles(region)) {
      // Where strips would write the same rows, one thread can go through all of them still.
      region.strips = choice.strips = 1;
      choice.repeated_ns = 0;
      if ((target_.threads > 1 && target_.rows == 0) || !settle_tiles(region)) {
        choice.verdict = TileChoice::Verdict::shared;
        return false;
      }
    }
    if (target_.rows == 0 && live_.during(region) > live_.most()) {
      choice.verdict = TileChoice::Verdict::takes_memory;
      return false;
    }
    return true;
  }

  /// Whether what is in memory at a step is near the most that ever is, and does not stay in cache.
  bool is_large(int step) const {
    const int64_t bytes = live_.at(step);
    return bytes > cached_bytes(target_) && 2 * bytes > live_.most();
  }

  /// Of what no step behind `last` reads and none before `first` writes.
  int64_t bytes_that_end(int first, int last) const {
    int64_t bytes = 0;
    for (const int read : program_.steps[static_cast<size_t>(last)].reads) {
      const Slot& slot = plan_.slots[static_cast<size_t>(read)];
      const bool ends = slot.memory == Memory::intermediate && slot.outputs == 0 && slot.first >= first;
      bytes += ends && slot.last == last ? s_.bytes(slot) : 0;
    }
    return bytes;
  }

  /// Whether a step writes over an input that other steps may still read.
  bool takes_state(int step) const {
    return std::ranges::any_of(states_, [&](const Slot* slot) { return slot->first <= step && slot->last >= step; });
  }

  const Program& program_;
  const Plan& plan_;
  const Specialization& s_;
  RegionMaker maker_;
  const LiveBytes live_;
  std::vector<double> work_;         // of steps
  std::vector<const Slot*> states_;  // outputs that take the memory of an input
  TileTarget target_;
  std::vector<RegionCut> cuts_;
};

}  // namespace

TileTarget tile_target(const Program& program, int threads) {
  const Pipelines& pipelines = program.pipelines;
  return {.threads = threads, .cache = pipelines.cache, .last_cache = pipelines.last_cache, .rows = pipelines.rows};
}

std::vector<RegionCut> choose_regions(const Program& program, const Plan& plan, int threads, const Specialization& s) {
  return RegionChooser(program, plan, threads, s).run();
}

}  // namespace tenon::runtime
