#include "runtime/engine.h"

#include <algorithm>

#include "base/fail.h"
#include "runtime/execution.h"
#include "runtime/work.h"

namespace tenon::runtime {
namespace {

template <class Declared>
std::vector<Port> ports(const std::vector<Declared>& declared) {
  std::vector<Port> result;
  for (const Declared& d : declared) {
    result.push_back({.name = d.name, .shape = d.shape});
  }
  return result;
}

StepReport report(const Program& program, const Step& step) {
  const Traffic bytes = traffic(program, step);
  StepReport result{.kind = step.host ? StepKind::host : StepKind::copy,
                    .label = step.label,
                    .boundary = step.boundary,
                    .bytes_read = bytes.read,
                    .bytes_written = bytes.written,
                    .parts = static_cast<int>(std::ranges::count(step.parts, -1, &Part::long_rows_of)),
                    .phases = 1};
  for (const Part& part : step.parts) {
    const loops::Kernel& kernel = program.kernels[static_cast<size_t>(part.kernel)];
    result.phases = std::max(result.phases, static_cast<int>(kernel.phases.size()));
    result.kind = is_copy(kernel) ? result.kind : StepKind::kernel;
  }
  return result;
}

}  // namespace

Engine::Engine(Program program, std::vector<KernelEntry> code, ConstraintSet constraints,
               std::shared_ptr<void> keep_alive, const RuntimeOptions& options)
    : keep_alive_(std::move(keep_alive)),
      program_(std::move(program)),
      code_(std::move(code)),
      pool_(options.pool != nullptr ? *options.pool : Pool::shared()),
      plan_(make_plan(program_)),
      binder_(program_, std::move(constraints)),
      inputs_(ports(program_.inputs)),
      outputs_(ports(program_.outputs)),
      cache_(options.cache_bytes),
      memory_(options.idle_bytes) {
  TENON_CHECK(code_.size() == program_.kernels.size(), "{} entries for {} kernels", code_.size(),
              program_.kernels.size());
  for (const Step& step : program_.steps) {
    steps_.push_back(report(program_, step));
  }
}

Specialization Engine::make(const Bindings& bindings) const {
  return specialize(program_, plan_, bindings, pool_.size());
}

SpecializationCache::Pointer Engine::specialization(std::span<const Array> inputs, const Bindings& known) {
  thread_local SpecializationCache::Key key;  // keeps its memory from call to call
  if (!binder_.key(inputs, known, key)) {
    binder_.bind(inputs, known);  // says what is wrong
    TENON_CHECK(false, "inputs that have no key were bound");
  }
  return cache_.find_or_make(key, [&] { return make(binder_.bind(inputs, known)); });
}

SpecializationCache::Pointer Engine::specialization(const Bindings& bindings) {
  SpecializationCache::Key key;
  const Bindings bound = binder_.bind_ahead(bindings, key);
  return cache_.find_or_make(key, [&] { return make(bound); });
}

std::vector<StridedArray> Engine::run(std::span<const Array> inputs, std::span<Array> donated,
                                      const RunOptions& options) {
  const SpecializationCache::Pointer found = specialization(inputs, options.bindings);
  runs_.fetch_add(1, std::memory_order_relaxed);
  const Context context{.program = program_, .code = code_, .plan = plan_, .pool = pool_, .memory = memory_};
  return execute(context, *found, inputs, donated, options.threads);
}

RunCounters Engine::counters() const {
  const SpecializationCache::Counters cache = cache_.counters();
  return {.runs = runs_.load(std::memory_order_relaxed),
          .specializations = cache.made,
          .hits = cache.hits,
          .evictions = cache.evictions,
          .cached_bytes = cache.bytes,
          .idle_bytes = memory_.idle_bytes()};
}

}  // namespace tenon::runtime
