#include "runtime/plan/tile_regions.h"

#include <algorithm>

#include "base/host_caches.h"
#include "runtime/plan/launches.h"

namespace tenon::runtime {
namespace {

/// Longer ones gain no more than what halos add with each step.
constexpr int kMostSteps = 8;
/// An intermediate is written once and read about so often at most.
constexpr int64_t kMostUses = 3;

class RegionMaker {
 public:
  RegionMaker(const Program& program, const Plan& plan, const Specialization& s)
      : program_(program), plan_(plan), s_(s) {}

  /// Steps [first, end) as one region, not cut yet.
  TiledRegion make(int first, int end) {
    if (rows_.empty()) {
      rows_ = values_of(plan_.row_program, plan_.row_extents, plan_.names, s_.bindings);
    }
    region_ = {.first_step = first, .steps = end - first};
    for (int step = first; step < end; ++step) {
      const Span& parts = plan_.steps[static_cast<size_t>(step)].parts;
      for (uint32_t i = parts.first; i < parts.end(); ++i) {
        if (is_chosen(plan_, s_, plan_.parts[i])) {
          add_stage(static_cast<int>(i));
        }
      }
    }
    for (const RegionUse& use : region_.uses) {
      const RegionBuffer& buffer = region_.buffers[static_cast<size_t>(use.buffer)];
      if (use.writes && !buffer.inside) {
        stage_of(use).is_root = true;
      }
    }
    for (size_t i = 0; i < region_.stages.size(); ++i) {
      region_.driver = region_.stages[i].is_root ? static_cast<int>(i) : region_.driver;
    }
    return std::move(region_);
  }

 private:
  void add_stage(int at) {
    const PartPlan& part = plan_.parts[static_cast<size_t>(at)];
    const PhasePlan& phase = plan_.phases[plan_.kernels[static_cast<size_t>(part.kernel)].phases.first];
    const int64_t rows = row_value(part.rows.rows);
    RegionStage stage{.part = at,
                      .rows = {.rows = rows, .all = rows * row_value(part.rows.items)},
                      .first_use = static_cast<uint32_t>(region_.uses.size())};
    if (stage.rows.all > 0) {
      stage.iterations = s_.value(phase.grid) / stage.rows.all;
      stage.work = loops::kByteOperation * static_cast<double>(s_.value(phase.work) * stage.iterations);
    }
    for (uint32_t i = part.rows.uses.first; i < part.rows.uses.end(); ++i) {
      add_use(plan_.row_uses[i]);
    }
    stage.uses = static_cast<uint32_t>(region_.uses.size()) - stage.first_use;
    const size_t arguments = program_.kernels[static_cast<size_t>(part.kernel)].buffers.size();
    for (size_t i = 0; i < arguments; ++i) {
      const int slot = plan_.arguments[part.first_argument + i];
      if (slot >= 0 && plan_.slots[static_cast<size_t>(slot)].memory == Memory::constant) {
        stage.constant_bytes += s_.bytes(plan_.slots[static_cast<size_t>(slot)]);
      }
    }
    region_.stages.push_back(stage);
  }

  void add_use(const RowUsePlan& plan) {
    const int buffer = buffer_of(plan.slot);
    if (buffer < 0) {
      return;
    }
    RegionUse use{.buffer = buffer,
                  .argument = plan.argument,
                  .writes = plan.writes,
                  .first = static_cast<uint32_t>(region_.touched.size()),
                  .count = plan.touched.count};
    for (uint32_t i = plan.touched.first; i < plan.touched.end(); ++i) {
      const TouchedPlan& each = plan_.touched[i];
      TouchedRow row{.first = row_value(each.first),
                     .last = row_value(each.last),
                     .step = row_value(each.step),
                     .item_step = row_value(each.item_step)};
      row.least = each.least < 0 ? row.least : row_value(each.least);
      row.most = each.most < 0 ? row.most : row_value(each.most);
      region_.touched.push_back(row);
    }
    region_.uses.push_back(use);
  }

  /// Of a slot that a step of the region writes; -1 for others.
  int buffer_of(int slot) {
    const auto known = std::ranges::find(region_.buffers, slot, &RegionBuffer::slot);
    if (known != region_.buffers.end()) {
      return static_cast<int>(known - region_.buffers.begin());
    }
    const int end = region_.first_step + region_.steps;
    const auto writes = [&](int step) {
      return std::ranges::find(program_.steps[static_cast<size_t>(step)].writes, slot) !=
             program_.steps[static_cast<size_t>(step)].writes.end();
    };
    bool is_written = false;
    for (int step = region_.first_step; step < end; ++step) {
      is_written |= writes(step);
    }
    if (!is_written) {
      return -1;
    }
    const Slot& plan = plan_.slots[static_cast<size_t>(slot)];
    region_.buffers.push_back({.slot = slot,
                               .elements = s_.value(plan.elements),
                               .element_bytes = static_cast<int64_t>(byte_size(plan.dtype)),
                               .inside = plan.memory == Memory::intermediate && plan.outputs == 0 &&
                                         plan.first >= region_.first_step && plan.last < end});
    return static_cast<int>(region_.buffers.size()) - 1;
  }

  int64_t row_value(RowExtentId id) const { return rows_[static_cast<size_t>(id)]; }

  RegionStage& stage_of(const RegionUse& use) {
    const auto at = static_cast<uint32_t>(&use - region_.uses.data());
    return *std::ranges::find_if(region_.stages, [&](const RegionStage& stage) {
      return at >= stage.first_use && at < stage.first_use + stage.uses;
    });
  }

  const Program& program_;
  const Plan& plan_;
  const Specialization& s_;
  std::vector<int64_t> rows_;  // of Plan::row_extents; empty: not computed yet
  TiledRegion region_;
};

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
    RegionChoice chosen{.first_step = first, .steps = 1};
    int64_t inside = 0;
    double work = work_[static_cast<size_t>(first)];
    int since = 0;  // it was found
    for (int last = first + 1; last < std::min(end, first + kMostSteps) && since < 2; ++last, ++since) {
      if (takes_state(first) || takes_state(last)) {
        break;
      }
      inside += bytes_that_end(first, last);
      work += work_[static_cast<size_t>(last)];
      if (inside <= 0 || (target_.rows == 0 && inside <= cached_bytes(target_))) {
        since = -1;
        chosen.choice.verdict = inside > 0 ? TileChoice::Verdict::fits_already : TileChoice::Verdict::empty;
        continue;
      }
      const double most = most_saved(target_, inside, kMostUses * inside);
      if (target_.rows == 0 && !may_pay(most, work)) {
        chosen.choice = {.verdict = TileChoice::Verdict::costs_more, .saved_ns = most};
        continue;
      }
      TiledRegion region = maker_.make(first, last + 1);
      const TileChoice choice = choose_tiles(region, target_);
      if (choice.tiled() && (best.steps == 0 || target_.rows > 0 || choice.net() > chosen.choice.net())) {
        chosen = {.first_step = first, .steps = region.steps, .choice = choice};
        best = std::move(region);
        since = -1;
      } else if (best.steps == 0) {
        chosen.choice = choice;
      }
      since = target_.rows > 0 ? -1 : since;
    }
    if (best.steps > 0 && !settle_alone(best)) {
      chosen.steps = 1;
      chosen.choice.verdict = TileChoice::Verdict::shared;
    } else if (best.steps > 0) {
      chosen.region = static_cast<int>(s_.regions.size());
      s_.tiles += best.tiles();
      s_.kept_bytes += chosen.choice.kept_bytes;
      s_.regions.push_back(std::move(best));
    }
    s_.choices.push_back(chosen);
    return first + chosen.steps;
  }

  /// Where strips would write the same rows, one thread can go through all of them still.
  bool settle_alone(TiledRegion& region) const {
    if (settle_tiles(region)) {
      return true;
    }
    region.strips = 1;
    return (target_.threads == 1 || target_.rows > 0) && settle_tiles(region);
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
