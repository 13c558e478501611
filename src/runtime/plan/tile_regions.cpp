#include "runtime/plan/tile_regions.h"

#include <algorithm>
#include <cstdint>

#include "base/host_caches.h"
#include "runtime/plan/launches.h"
#include "runtime/plan/region_maker.h"

namespace tenon::runtime {
namespace {

/// Longer ones gain no more than what halos add with each step.
constexpr int kMostSteps = 8;
/// An intermediate is written once and read about so often at most.
constexpr int64_t kMostUses = 3;
/// The part of the memory of its steps that a region must save where it saves no time.
constexpr double kLeastOfMemory = 0.25;

class Tiler {
 public:
  Tiler(const Program& program, const Plan& plan, int threads, Specialization& s)
      : program_(program),
        plan_(plan),
        s_(s),
        maker_(program, plan, s),
        work_(work_of_steps(plan, s)),
        target_{.threads = threads,
                .cache = this_machine().second_cache,
                .last_cache = host_caches().last,
                .rows = program.pipelines.rows} {
    for (const Slot& slot : plan.slots) {
      if (slot.memory == Memory::output && slot.in_place >= 0) {
        states_.push_back(&slot);
      }
    }
  }

  void add(const Region& region) {
    const int end = region.first + region.count;
    for (int first = region.first; first < end;) {
      first = add_from(first, end);
    }
  }

 private:
  /// The best region that begins with a step; returns where to go on.
  int add_from(int first, int end) {
    TiledRegion best;
    RegionChoice chosen = fastest_from(first, end, best);
    if (best.steps > 0 && !settle(best, chosen.choice)) {
      best.steps = 0;
    }
    if (best.steps == 0 && target_.rows == 0 && is_large(first)) {
      smallest_from(first, end, chosen, best);
    }
    chosen.steps = std::max(best.steps, 1);
    if (best.steps > 0) {
      chosen.region = static_cast<int>(s_.regions.size());
      s_.tiles += best.tiles();
      s_.kept_bytes += chosen.choice.kept_bytes;
      s_.regions.push_back(std::move(best));
    }
    s_.choices.push_back(chosen);
    return first + chosen.steps;
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
    int64_t before = live()[static_cast<size_t>(first)];
    int64_t least = INT64_MAX;
    for (int last = first + 1; last < last_from(first, end); ++last) {
      inside += bytes_that_end(first, last);
      before = std::max(before, live()[static_cast<size_t>(last)]);
      if (static_cast<double>(inside) < kLeastOfMemory * static_cast<double>(before)) {
        continue;
      }
      TiledRegion region = maker_.make(first, last + 1);
      TileChoice choice = choose_tiles_for_memory(region, target_);
      if (choice.tiled() && settle(region, choice)) {
        const int64_t bytes = live_bytes(region);
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
    while (last < std::min(end, first + kMostSteps) && !takes_state(last)) {
      ++last;
    }
    return last;
  }

  /// Whether it can be cut as was chosen; else the verdict says why not.
  bool settle(TiledRegion& region, TileChoice& choice) {
    if (!settle_tiles(region)) {
      // Where strips would write the same rows, one thread can go through all of them still.
      region.strips = 1;
      choice.repeated_ns = 0;
      if ((target_.threads > 1 && target_.rows == 0) || !settle_tiles(region)) {
        choice.verdict = TileChoice::Verdict::shared;
        return false;
      }
    }
    if (target_.rows == 0 && live_bytes(region) > *std::ranges::max_element(live())) {
      choice.verdict = TileChoice::Verdict::takes_memory;
      return false;
    }
    return true;
  }

  /// What is in memory while a region runs.
  int64_t live_bytes(const TiledRegion& region) const {
    int64_t bytes = region.window_bytes * region.workers;
    for (const Slot& slot : plan_.slots) {
      bytes += lives(slot, region.first_step, region.first_step + region.steps) ? s_.bytes(slot) : 0;
    }
    for (const RegionBuffer& buffer : region.buffers) {
      bytes -= buffer.inside ? buffer.elements * buffer.element_bytes : 0;
    }
    return bytes;
  }

  /// Of steps: what is in memory while one runs, where each ends before the next begins.
  const std::vector<int64_t>& live() {
    if (live_.empty()) {
      live_.resize(plan_.steps.size());
      for (const Slot& slot : plan_.slots) {
        for (int step = slot.first; lives(slot, step, step + 1); ++step) {
          live_[static_cast<size_t>(step)] += s_.bytes(slot);
        }
      }
      most_live_ = std::ranges::max(live_);
    }
    return live_;
  }

  /// Whether what is in memory at a step is near the most that ever is, and does not stay in cache.
  bool is_large(int step) {
    const int64_t bytes = live()[static_cast<size_t>(step)];
    return bytes > cached_bytes(target_) && 2 * bytes > most_live_;
  }

  /// Whether a slot is an intermediate that lives during one of the steps [first, end).
  static bool lives(const Slot& slot, int first, int end) {
    return slot.memory == Memory::intermediate && slot.first >= 0 && slot.first < end && slot.last >= first;
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
  Specialization& s_;
  RegionMaker maker_;
  std::vector<double> work_;         // of steps
  std::vector<const Slot*> states_;  // outputs that take the memory of an input
  TileTarget target_;
  std::vector<int64_t> live_;  // empty: not computed yet
  int64_t most_live_ = 0;      // of those
};

}  // namespace

void tile_regions(const Program& program, const Plan& plan, int threads, Specialization& s) {
  if (!program.pipelines.on) {
    return;
  }
  Tiler tiler(program, plan, threads, s);
  for (const Region& region : program.regions) {
    tiler.add(region);
  }
}

Waves with_regions(const Waves& waves, const Specialization& s, size_t steps) {
  const auto region_of = [&](int step) {
    return std::ranges::find_if(s.regions, [&](const TiledRegion& region) {
      return step >= region.first_step && step < region.first_step + region.steps;
    });
  };
  Waves result{.steps = {}, .first = {0}};
  const auto add_wave = [&](std::span<const int> wave) {
    const auto region = region_of(wave.front());
    if (region == s.regions.end()) {
      result.steps.insert(result.steps.end(), wave.begin(), wave.end());
    } else if (wave.front() != region->first_step) {
      return;
    } else {
      for (int i = 0; i < region->steps; ++i) {
        result.steps.push_back(region->first_step + i);
      }
    }
    result.first.push_back(static_cast<uint32_t>(result.steps.size()));
  };
  for (size_t i = 0; i < waves.size(); ++i) {
    add_wave(waves.wave(i));
  }
  for (int step = 0; waves.size() == 0 && step < static_cast<int>(steps); ++step) {
    add_wave({&step, 1});
  }
  return result;
}

}  // namespace tenon::runtime
