#include "run_stats.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenon/size_counts.h"
#include "units.h"

namespace tenon::cli {

Json run_stats_json(const Executable& executable) {
  const RunCounters counted = executable.counters();
  const SizeCounts counts = size_counts(executable);
  Json sizes = Json::array();
  for (const SizeCount& each : counts.sizes) {
    Json bindings = Json::object();
    for (const auto& [name, size] : each.bindings) {
      bindings.set(name, size);
    }
    sizes.push(Json::object()
                   .set("bindings", bindings)
                   .set("segment", each.segment)
                   .set("hits", each.hits)
                   .set("specializations", each.specializations)
                   .set("evictions", each.evictions)
                   .set("bytes", each.bytes)
                   .set("specialize_us", each.specialize_ms * 1e3));
  }
  return Json::object()
      .set("runs", counted.runs)
      .set("specializations", counted.specializations)
      .set("hits", counted.hits)
      .set("evictions", counted.evictions)
      .set("tiles", counted.tiles)
      .set("kept_bytes", counted.kept_bytes)
      .set("cached_bytes", counted.cached_bytes)
      .set("idle_bytes", counted.idle_bytes)
      .set("memory_bytes", counted.memory_bytes)
      .set("peak_memory_bytes", counted.peak_memory_bytes)
      .set("compile_us", counted.compile_ms * 1e3)
      .set("specialize_us", counted.specialize_ms * 1e3)
      .set("waiting_us", counted.waiting_ms * 1e3)
      .set("run_us", counted.run_ms * 1e3)
      .set("sizes", sizes)
      .set("other_sizes", counts.other_sizes);
}

std::string run_stats_text(const Executable& executable) {
  const RunCounters counted = executable.counters();
  const SizeCounts counts = size_counts(executable, 16);
  std::string text = fmt::format("  runs        {:>10}   {} in all, {} of it waiting for threads\n", counted.runs,
                                 time_text(counted.run_ms * 1e3), time_text(counted.waiting_ms * 1e3));
  text += fmt::format("  specialised {:>10}   {} in all; {} hits, {} evictions\n", counted.specializations,
                      time_text(counted.specialize_ms * 1e3), counted.hits, counted.evictions);
  text += fmt::format("  memory      {:>10}   at most; {} idle between runs, {} for prepared sizes and results\n",
                      bytes_text(counted.peak_memory_bytes), bytes_text(counted.idle_bytes),
                      bytes_text(counted.cached_bytes));
  if (counts.sizes.empty()) {
    return text;
  }
  size_t width = 5;
  for (const SizeCount& each : counts.sizes) {
    width = std::max(width, each.bindings.to_string().size());
  }
  text += fmt::format("  {:<{}}  {:>8} {:>9} {:>9} {:>11} {:>10}\n", "sizes", width, "hits", "prepared", "evicted",
                      "to prepare", "kept");
  const auto row = [&](const std::string& name, const SizeCount& each) {
    text += fmt::format("  {:<{}}  {:>8} {:>9} {:>9} {:>11} {:>10}\n", name, width, each.hits, each.specializations,
                        each.evictions, time_text(each.specialize_ms * 1e3),
                        each.bytes == 0 ? "-" : bytes_text(each.bytes));
  };
  for (const SizeCount& each : counts.sizes) {
    row(each.bindings.to_string(), each);
  }
  if (counts.other_sizes > 0) {
    row(fmt::format("{} more", counts.other_sizes), counts.others);
  }
  return text;
}

}  // namespace tenon::cli
