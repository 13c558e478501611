#include <algorithm>
#include <iterator>

#include "kernel/program/step_text.h"
#include "runtime/plan/launches.h"
#include "runtime/run/engine.h"
#include "runtime/run/step_reads.h"

namespace tenon::runtime {
namespace {

/// Of a step of a body, in one trip.
double work_inside(const Watch::Inside& inside) {
  return work_of_steps(inside.context->plan, *inside.s)[static_cast<size_t>(inside.step)];
}

/// As people count steps.
std::vector<int> from_one(const std::vector<int>& steps) {
  std::vector<int> numbers;
  std::ranges::transform(steps, std::back_inserter(numbers), [](int step) { return step + 1; });
  return numbers;
}

}  // namespace

void Engine::report_trace(const Watch& watch, const Specialization& s) const {
  if (!watch.traces()) {
    return;
  }
  const StepReads reads = step_reads(program_, options_.first_step, options_.input_steps);
  std::vector<double> work(program_.steps.size(), 0);
  for (const Watch::Stretch& stretch : watch.stretches()) {
    if (stretch.inside.context == nullptr) {
      work[static_cast<size_t>(stretch.step)] += stretch.work;
    }
  }
  std::vector<TraceEvent> events;
  for (const Watch::Stretch& stretch : watch.stretches()) {
    const auto at = static_cast<size_t>(stretch.step);
    const bool inside = stretch.inside.context != nullptr;
    const Program& program = inside ? stretch.inside.context->program : program_;
    const Step& step = program.steps[inside ? static_cast<size_t>(stretch.inside.step) : at];
    const double all = inside ? work_inside(stretch.inside) : work[at];
    const double share = all > 0 ? stretch.work / all : 1;
    const Traffic bytes = traffic(program, step);
    const int64_t flops = evaluate(step.flops, s.bindings);
    events.push_back({.program = program_.name,
                      .step = options_.first_step + stretch.step + 1,
                      .label = inside ? steps_[at].label + " / " + step.label : step.label,
                      .nodes = node_text(step.nodes),
                      .inside = inside ? stretch.inside.step + 1 : 0,
                      .reads = inside ? std::vector<int>() : from_one(reads.of_steps[at]),
                      .phase = stretch.phase,
                      .thread = stretch.thread,
                      .tile = stretch.tile,
                      .begin_ns = stretch.begin_ns,
                      .end_ns = stretch.end_ns,
                      .bytes = share * static_cast<double>(evaluate(bytes.read + bytes.written, s.bindings)),
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
          .tiles = tiles_.load(std::memory_order_relaxed),
          .kept_bytes = kept_bytes_.load(std::memory_order_relaxed),
          .reused_results = results.hits,
          .cached_bytes = cache.bytes + results.bytes,
          .idle_bytes = memory.idle,
          .memory_bytes = memory.total,
          .peak_memory_bytes = memory.peak,
          .compile_ms = options_.compile_ms,
          .specialize_ms =
              static_cast<double>(cache.nanoseconds + static_ns_.load(std::memory_order_relaxed)) / kMillisecond,
          .waiting_ms = static_cast<double>(waited_ns_.load(std::memory_order_relaxed)) / kMillisecond,
          .run_ms = static_cast<double>(run_ns_.load(std::memory_order_relaxed)) / kMillisecond};
}

SizeCounts Engine::size_counts(size_t most) const { return cache_.size_counts(most); }

Capabilities Engine::capabilities() const {
  Capabilities result{.threads = threads(), .code = options_.code};
  for (int i = 0; i < kDtypeCount; ++i) {
    result.dtypes.push_back(static_cast<Dtype>(i));
  }
  return result;
}

}  // namespace tenon::runtime
