#include "runtime/plan/launches.h"

#include <algorithm>

namespace tenon::runtime {
namespace {

/// Chunks for each thread: enough that threads end together though some chunks take longer.
constexpr double kChunksPerThread = 4;

struct Load {
  int64_t iterations = 0;
  double each = 0;  // work of one

  double total() const { return static_cast<double>(iterations) * each; }
};

bool has_long_rows(const Plan& plan, const Specialization& s, const PartPlan& made_for_them) {
  return s.value(made_for_them.row_bytes) > plan.most_row_bytes;
}

/// It would walk over rows without elements, and there may be any number of those.
bool has_nothing_to_write(const Plan& plan, const Specialization& s, const PartPlan& part) {
  const std::span writes = std::span(plan.writes).subspan(part.writes.first, part.writes.count);
  return !writes.empty() && std::ranges::all_of(writes, [&](int slot) {
    return s.value(plan.slots[static_cast<size_t>(slot)].elements) == 0;
  });
}

}  // namespace

bool is_chosen(const Plan& plan, const Specialization& s, const PartPlan& part) {
  if (has_nothing_to_write(plan, s, part)) {
    return false;
  }
  if (part.long_rows_of >= 0) {
    return has_long_rows(plan, s, part);
  }
  return part.long_rows < 0 || !has_long_rows(plan, s, plan.parts[static_cast<size_t>(part.long_rows)]);
}

namespace {

Load load(const Plan& plan, const Specialization& s, const PartPlan& part, uint32_t phase) {
  const KernelPlan& kernel = plan.kernels[static_cast<size_t>(part.kernel)];
  if (phase >= kernel.phases.count || !is_chosen(plan, s, part)) {
    return {};
  }
  const PhasePlan& p = plan.phases[kernel.phases.first + phase];
  return {std::max<int64_t>(0, s.value(p.grid)),
          loops::kByteOperation * static_cast<double>(std::max<int64_t>(1, s.value(p.work)))};
}

class Cutter {
 public:
  Cutter(const Plan& plan, int threads, Specialization& s) : plan_(plan), threads_(threads), s_(s) {}

  void add_stage(std::span<const int> steps) {
    const auto region = std::ranges::lower_bound(s_.regions, steps.front(), {}, &TiledRegion::first_step);
    if (region != s_.regions.end() && region->first_step == steps.front()) {
      s_.stages.push_back({.region = static_cast<int>(region - s_.regions.begin())});
      return;
    }
    Stage stage{.step = steps.size() == 1 ? steps[0] : -1,
                .launches = {.first = static_cast<uint32_t>(s_.launches.size())}};
    int phases = 0;
    for (const int step : steps) {
      phases = std::max(phases, plan_.steps[static_cast<size_t>(step)].phases);
    }
    for (int phase = 0; phase < phases; ++phase) {
      add_launch(steps, phase);
    }
    stage.launches.count = static_cast<uint32_t>(s_.launches.size()) - stage.launches.first;
    s_.stages.push_back(stage);
  }

 private:
  void add_launch(std::span<const int> steps, int phase) {
    Launch launch{.phase = phase, .ranges = {.first = static_cast<uint32_t>(s_.ranges.size())}};
    double total = 0;
    for (const int step : steps) {
      const Span& parts = plan_.steps[static_cast<size_t>(step)].parts;
      for (uint32_t i = parts.first; i < parts.end(); ++i) {
        const Load l = load(plan_, s_, plan_.parts[i], static_cast<uint32_t>(phase));
        if (l.iterations > 0) {
          total += l.total();
          s_.ranges.push_back({.part = static_cast<int>(i), .count = l.iterations});
        }
      }
    }
    launch.ranges.count = static_cast<uint32_t>(s_.ranges.size()) - launch.ranges.first;
    if (launch.ranges.count == 0 && phase > 0) {
      return;  // a phase of a part that another takes the place of
    }
    cut(launch, total);
    s_.launches.push_back(launch);
  }

  void cut(Launch& launch, double total) {
    launch.work = total;
    const bool alone = total < plan_.least_shared_work;
    const double chunk = std::max(std::min(kChunkWork, plan_.least_shared_work), total / (kChunksPerThread * threads_));
    for (uint32_t i = launch.ranges.first; i < launch.ranges.end(); ++i) {
      Range& range = s_.ranges[i];
      const double each =
          load(plan_, s_, plan_.parts[static_cast<size_t>(range.part)], static_cast<uint32_t>(launch.phase)).each;
      range.grain = alone ? range.count : std::clamp<int64_t>(static_cast<int64_t>(chunk / each), 1, range.count);
      range.first_chunk = launch.chunks;
      launch.chunks += (range.count - 1) / range.grain + 1;
    }
    if (alone) {
      launch.chunks = std::min<int64_t>(launch.chunks, 1);
    }
  }

  const Plan& plan_;
  int threads_;
  Specialization& s_;
};

}  // namespace

std::vector<double> work_of_steps(const Plan& plan, const Specialization& s) {
  std::vector<double> result(plan.steps.size(), 0);
  for (const PartPlan& part : plan.parts) {
    const uint32_t phases = plan.kernels[static_cast<size_t>(part.kernel)].phases.count;
    for (uint32_t phase = 0; phase < phases; ++phase) {
      result[static_cast<size_t>(part.step)] += load(plan, s, part, phase).total();
    }
  }
  return result;
}

void make_launches(const Plan& plan, const Waves& waves, int threads, Specialization& s) {
  s.ranges.reserve(plan.ranges);
  s.launches.reserve(plan.launches);
  s.stages.reserve(plan.steps.size());
  Cutter cutter(plan, threads, s);
  for (size_t i = 0; i < waves.size(); ++i) {
    cutter.add_stage(waves.wave(i));
  }
  for (int step = 0; waves.size() == 0 && step < std::ssize(plan.steps); ++step) {
    cutter.add_stage({&step, 1});
  }
}

}  // namespace tenon::runtime
