#include "cli/print/run_stats.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/print/units.h"
#include "tenon/size_counts.h"

namespace tenon::cli {
namespace {

/// "1 hit", "2 hits".
std::string counted_text(int64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

}  // namespace

std::string run_stats_text(const Executable& executable) {
  const RunCounters counted = executable.counters();
  const SizeCounts counts = size_counts(executable, 16);
  std::string text = fmt::format("  runs        {:>10}   {} in all, {} of it waiting for threads\n", counted.runs,
                                 time_text(counted.run_ms * 1e3), time_text(counted.waiting_ms * 1e3));
  text += fmt::format("  specialised {:>10}   {} in all; {}, {}\n", counted.specializations,
                      time_text(counted.specialize_ms * 1e3), counted_text(counted.hits, "hit"),
                      counted_text(counted.evictions, "eviction"));
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
