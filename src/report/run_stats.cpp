#include "report/run_stats.h"

#include "tenon/size_counts.h"

namespace tenon::report {

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

}  // namespace tenon::report
