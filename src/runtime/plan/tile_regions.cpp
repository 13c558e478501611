#include "runtime/plan/tile_regions.h"

#include <algorithm>
#include <optional>

#include "runtime/plan/choose_regions.h"
#include "runtime/plan/launches.h"
#include "runtime/plan/live_bytes.h"
#include "runtime/plan/region_maker.h"

namespace tenon::runtime {
namespace {

/// Windows begin at a line, wherever what they hold begins.
constexpr int64_t kElementsOfALine = 64;

/// Cuts the regions of a specialization as was chosen for sizes near its own.
class Tiler {
 public:
  Tiler(const Program& program, const Plan& plan, const TileOptions& options, Specialization& s)
      : plan_(plan),
        s_(s),
        exact_(options.tiling == Tiling::exact),
        target_(tile_target(program, options.threads)),
        maker_(program, plan, s),
        live_(plan, s) {
    cuts_.reserve(program.steps.size());
  }

  void add(const RegionCut& cut) {
    RegionChoice choice = cut.choice;
    if (cut.tile > 0) {
      take(cut, choice);
    }
    s_.choices.push_back(choice);
    cuts_.push_back(&cut);
  }

 private:
  using Verdict = TileChoice::Verdict;

  void take(const RegionCut& cut, RegionChoice& choice) {
    TiledRegion region;
    if (const RegionChoice* const like = choice_like(cut)) {
      choice.choice.verdict = like->choice.verdict;
      if (like->region >= 0) {
        region = maker_.make_like(s_.regions[static_cast<size_t>(like->region)], choice.first_step);
      }
    } else {
      region = maker_.make(choice.first_step, choice.first_step + choice.steps);
      choice.choice.verdict = cut_region(region, cut);
    }
    if (choice.choice.tiled() && target_.rows == 0 && live_.during(region) > live_.most()) {
      choice.choice.verdict = Verdict::takes_memory;
    }
    if (choice.choice.tiled()) {
      choice.region = static_cast<int>(s_.regions.size());
      choice.choice.kept_bytes = region.inside_bytes();
      s_.tiles += region.tiles();
      s_.kept_bytes += choice.choice.kept_bytes;
      s_.regions.push_back(std::move(region));
    }
  }

  /// What became of steps like these that were to be cut in the same way.
  const RegionChoice* choice_like(const RegionCut& cut) const {
    const int like = plan_.steps[static_cast<size_t>(cut.choice.first_step)].like;
    const auto known = std::ranges::lower_bound(s_.choices, like, {}, &RegionChoice::first_step);
    if (known == s_.choices.end() || known->first_step != like || known->choice.verdict == Verdict::takes_memory) {
      return nullptr;
    }
    const RegionCut& other = *cuts_[static_cast<size_t>(known - s_.choices.begin())];
    const bool is_same = other.choice.steps == cut.choice.steps && other.tile == cut.tile &&
                         other.choice.choice.strips == cut.choice.choice.strips;
    return is_same ? &*known : nullptr;
  }

  /// What was chosen is for sizes near these. Whether it can be done at these is seen here.
  Verdict cut_region(TiledRegion& region, const RegionCut& cut) const {
    const auto has_no_rows = [](const RegionStage& stage) { return stage.rows.all <= 0; };
    const int64_t inside = region.inside_bytes();
    if (std::ranges::any_of(region.stages, has_no_rows) || inside == 0) {
      return Verdict::empty;
    }
    if (target_.rows == 0 && inside <= cached_bytes(target_)) {
      return Verdict::fits_already;
    }
    if (!is_ordered(region)) {
      return Verdict::unordered;
    }
    const int64_t rows = region.driving().rows.all;
    region.tile = std::min(cut.tile, rows);
    region.strips = std::min(cut.choice.choice.strips, rows);
    region.workers = target_.threads;
    // Other kernels may run at these sizes than at those.
    if (exact_ || cut.windows.size() != region.buffers.size()) {
      return settle_tiles(region) ? Verdict::tiled : Verdict::shared;
    }
    return set_windows(region, cut) ? Verdict::tiled : Verdict::shared;
  }

  static bool set_windows(TiledRegion& region, const RegionCut& cut) {
    const auto rows = static_cast<double>(region.driving().rows.all);
    for (size_t b = 0; b < region.buffers.size(); ++b) {
      RegionBuffer& buffer = region.buffers[b];
      buffer.copied = cut.windows[b].copied;
      buffer.window =
          static_cast<int64_t>(cut.windows[b].rows * static_cast<double>(buffer.elements) / rows) + kElementsOfALine;
    }
    return place_windows(region);
  }

  const Plan& plan_;
  Specialization& s_;
  bool exact_;
  const TileTarget target_;
  RegionMaker maker_;
  const LiveBytes live_;
  std::vector<const RegionCut*> cuts_;  // of Specialization::choices
};

/// At the rounded sizes; at its own where these are against the program's constraints.
std::vector<RegionCut> choose_at(const Program& program, const Plan& plan, int threads, const Bindings& rounded,
                                 const Specialization& s) {
  Specialization near;
  near.bindings = rounded;
  std::optional<std::vector<int64_t>> values = values_if_any(plan.program, plan.extents.size(), plan.names, rounded);
  if (!values || !values_if_any(plan.row_program, plan.row_extents.size(), plan.names, rounded)) {
    return choose_regions(program, plan, threads, s);
  }
  near.values = *std::move(values);
  const bool fits = std::ranges::all_of(
      plan.slots, [&](const Slot& slot) { return near.value(slot.elements) >= 0 || s.value(slot.elements) < 0; });
  return choose_regions(program, plan, threads, fits ? near : s);
}

}  // namespace

void tile_regions(const Program& program, const Plan& plan, const TileOptions& options, TileChoices& kept,
                  Specialization& s) {
  if (!program.pipelines.on || program.regions.empty()) {
    return;
  }
  const Bindings rounded = round_sizes(s.bindings);
  TileChoices::List choices = kept.find(plan, rounded);
  if (!choices && options.tiling == Tiling::known) {
    s.lacks_choices = true;
    return;
  }
  if (!choices) {
    choices = kept.keep(plan, rounded, choose_at(program, plan, options.threads, rounded, s));
  }
  Tiler tiler(program, plan, options, s);
  s.choices.reserve(choices->size());
  s.regions.reserve(
      static_cast<size_t>(std::ranges::count_if(*choices, [](const RegionCut& cut) { return cut.tile > 0; })));
  for (const RegionCut& cut : *choices) {
    tiler.add(cut);
  }
}

Waves order_steps(const Plan& plan, int threads, const Specialization& s) {
  std::vector<double> work = work_of_steps(plan, s);
  for (const TiledRegion& region : s.regions) {
    std::fill_n(work.begin() + region.first_step, region.steps, 0.0);
  }
  Waves waves = form_waves(plan.dependencies, work, threads);
  return s.regions.empty() ? waves : with_regions(waves, s, plan.steps.size());
}

Waves with_regions(const Waves& waves, const Specialization& s, size_t steps) {
  std::vector<int> region_of(steps, -1);
  for (size_t i = 0; i < s.regions.size(); ++i) {
    std::fill_n(region_of.begin() + s.regions[i].first_step, s.regions[i].steps, static_cast<int>(i));
  }
  Waves result{.steps = {}, .first = {0}};
  result.steps.reserve(steps);
  result.first.reserve(steps + 1);
  const auto add_wave = [&](std::span<const int> wave) {
    const int at = region_of[static_cast<size_t>(wave.front())];
    if (at < 0) {
      result.steps.insert(result.steps.end(), wave.begin(), wave.end());
    } else if (const TiledRegion& region = s.regions[static_cast<size_t>(at)]; wave.front() != region.first_step) {
      return;
    } else {
      for (int i = 0; i < region.steps; ++i) {
        result.steps.push_back(region.first_step + i);
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
