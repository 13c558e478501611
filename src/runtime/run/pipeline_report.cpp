#include <fmt/format.h>

#include "runtime/run/engine.h"

namespace tenon::runtime {
namespace {

std::string reason_of(const TileChoice& choice) {
  using Verdict = TileChoice::Verdict;
  const auto us = [](double nanoseconds) { return nanoseconds / 1e3; };
  switch (choice.verdict) {
    case Verdict::empty: return "nothing lies between it and steps behind it that only they use";
    case Verdict::unordered: return "rows go through what is between them in another order";
    case Verdict::fits_already: return "what is between it and the next stays in cache as it is";
    case Verdict::saves_little:
      return fmt::format("{:.1f} us of memory are the most that tiles could save: too little of the time of its steps",
                         us(choice.saved_ns));
    case Verdict::shared: return "threads would write the same rows";
    case Verdict::takes_memory:
      return "what it reads and writes would be in memory at once, more than ever is without it";
    case Verdict::tiled:
    case Verdict::costs_more:
      return fmt::format(
          "saves {:.1f} us of memory{}; costs {:.1f} us for halos, {:.1f} for calls, {:.1f} for weights, {:.1f} of "
          "waiting",
          us(choice.saved_ns), choice.for_memory ? ", and space" : "", us(choice.repeated_ns), us(choice.call_ns),
          us(choice.weights_ns), us(choice.waiting_ns));
  }
  return "";
}

}  // namespace

std::vector<PipelineReport> Engine::pipelines(const Bindings& bindings) {
  const SpecializationCache::Pointer s = specialization(bindings);
  std::vector<PipelineReport> reports;
  for (const RegionChoice& each : s->choices) {
    PipelineReport report{.first_step = each.first_step,
                          .steps = each.steps,
                          .tiled = each.region >= 0,
                          .reason = reason_of(each.choice)};
    if (each.region >= 0) {
      const TiledRegion& region = s->regions[static_cast<size_t>(each.region)];
      report.tiles = region.tiles();
      report.rows = region.tile;
      report.strips = region.strips;
      report.window_bytes = region.window_bytes * region.workers;
      report.kept_bytes = each.choice.kept_bytes;
    }
    reports.push_back(std::move(report));
  }
  return reports;
}

}  // namespace tenon::runtime
