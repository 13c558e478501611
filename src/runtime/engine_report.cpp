#include "runtime/engine.h"

namespace tenon::runtime {

void Engine::report_trace(const Watch& watch, const Specialization& s) const {
  if (!watch.traces()) {
    return;
  }
  std::vector<double> work(program_.steps.size(), 0);
  for (const Watch::Stretch& stretch : watch.stretches()) {
    work[static_cast<size_t>(stretch.step)] += stretch.work;
  }
  std::vector<TraceEvent> events;
  for (const Watch::Stretch& stretch : watch.stretches()) {
    const auto at = static_cast<size_t>(stretch.step);
    const double share = stretch.work / work[at];
    const int64_t bytes = evaluate(steps_[at].bytes_read + steps_[at].bytes_written, s.bindings);
    const int64_t flops = evaluate(program_.steps[at].flops, s.bindings);
    events.push_back({.program = program_.name,
                      .step = options_.first_step + stretch.step + 1,
                      .label = steps_[at].label,
                      .phase = stretch.phase,
                      .thread = stretch.thread,
                      .begin_ns = stretch.begin_ns,
                      .end_ns = stretch.end_ns,
                      .bytes = share * static_cast<double>(bytes),
                      .flops = flops > 0 ? std::optional(share * static_cast<double>(flops)) : std::nullopt});
  }
  watch.trace()->add(std::move(events));
}

RunCounters Engine::counters() const {
  const SpecializationCache::Counters cache = cache_.counters();
  const ResultCache::Counters results = results_.counters();
  const MemoryPool::Counters memory = memory_.counters();
  constexpr double kMillisecond = 1e6;
  return {.compiles = 1,
          .runs = runs_.load(std::memory_order_relaxed),
          .specializations = cache.made,
          .hits = cache.hits,
          .evictions = cache.evictions,
          .reused_results = results.hits,
          .cached_bytes = cache.bytes + results.bytes,
          .idle_bytes = memory.idle,
          .memory_bytes = memory.total,
          .peak_memory_bytes = memory.peak,
          .compile_ms = options_.compile_ms,
          .specialize_ms = static_cast<double>(specialize_ns_.load(std::memory_order_relaxed)) / kMillisecond,
          .run_ms = static_cast<double>(run_ns_.load(std::memory_order_relaxed)) / kMillisecond};
}

Capabilities Engine::capabilities() const {
  Capabilities result{.threads = pool_.size(), .code = options_.code};
  for (int i = 0; i < kDtypeCount; ++i) {
    result.dtypes.push_back(static_cast<Dtype>(i));
  }
  return result;
}

}  // namespace tenon::runtime
