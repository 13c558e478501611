#include "runtime/engine.h"

#include <algorithm>
#include <chrono>

#include "base/fail.h"
#include "runtime/execution.h"
#include "runtime/scratch.h"
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

using Clock = std::chrono::steady_clock;

int64_t nanoseconds_since(Clock::time_point start) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count();
}

void describe_inputs(RunState& state, std::span<const Array> inputs) {
  state.outputs.clear();
  state.inputs.clear();
  for (const Array& input : inputs) {
    state.inputs.push_back(operand_of(input));
  }
}

void describe(std::vector<Operand>& operands, std::span<const TensorView> views, const char* what) {
  operands.clear();
  for (size_t i = 0; i < views.size(); ++i) {
    operands.push_back(operand_of(views[i], what, i));
  }
}

}  // namespace

Engine::Engine(Program program, std::vector<KernelEntry> code, ConstraintSet constraints,
               std::shared_ptr<void> keep_alive, RuntimeOptions options)
    : keep_alive_(std::move(keep_alive)),
      program_(std::move(program)),
      code_(std::move(code)),
      options_(std::move(options)),
      pool_(options_.pool != nullptr ? *options_.pool : Pool::shared()),
      plan_(make_plan(program_)),
      binder_(program_, plan_.names, options_.names, std::move(constraints)),
      inputs_(ports(program_.inputs)),
      outputs_(ports(program_.outputs)),
      budget_(options_.memory_budget),
      cache_(options_.memory_budget / 4),
      results_(options_.memory_budget / 4),
      memory_(options_.memory_budget),
      context_{.program = program_, .code = code_, .plan = plan_, .pool = pool_, .memory = memory_} {
  TENON_CHECK(code_.size() == program_.kernels.size(), "{} entries for {} kernels", code_.size(),
              program_.kernels.size());
  for (const Step& step : program_.steps) {
    steps_.push_back(report(program_, step));
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Level 2

Specialization Engine::make(const Bindings& bindings) const {
  return specialize(program_, plan_, bindings, pool_.size());
}

/// What a key stands for; `bind` gives its bindings when it is new.
SpecializationCache::Pointer Engine::find(const SpecializationCache::Key& key, const auto& bind) {
  bool fresh = false;
  const auto make_fresh = [&] {
    const Clock::time_point start = Clock::now();
    Specialization made = make(bind());
    specialize_ns_.fetch_add(nanoseconds_since(start), std::memory_order_relaxed);
    fresh = true;
    return made;
  };
  if (binder_.is_static()) {
    if (!has_static_.load(std::memory_order_acquire)) {
      const std::lock_guard lock(static_mutex_);
      if (!static_) {
        static_ = std::make_shared<const Specialization>(make_fresh());
        has_static_.store(true, std::memory_order_release);
      }
    }
    return static_;
  }
  SpecializationCache::Pointer found = cache_.find_or_make(key, make_fresh);
  if (fresh) {
    share_budget();
  }
  return found;
}

void Engine::bind_or_fail(RunState& state, const Bindings& known) const {
  if (!binder_.key(state.inputs, known, state.key)) {
    binder_.bind(state.inputs, known);  // says what is wrong
    TENON_CHECK(false, "inputs that have no key were bound");
  }
  if (binder_.is_static() && !known.empty()) {
    binder_.bind(state.inputs, known);
  }
}

SpecializationCache::Pointer Engine::specialization(const Bindings& bindings) {
  SpecializationCache::Key key;
  const Bindings bound = binder_.bind_ahead(bindings, key);
  return find(key, [&] { return bound; });
}

void Engine::pre_specialize(std::span<const Bindings> list) {
  struct Made {
    SpecializationCache::Key key;
    SpecializationCache::Pointer pointer;
  };
  std::vector<Made> all;
  for (const Bindings& bindings : list) {
    Made made;
    const Bindings bound = binder_.bind_ahead(bindings, made.key);
    if (binder_.is_static()) {
      made.pointer = find(made.key, [&] { return bound; });
    } else if (made.pointer = cache_.peek(made.key); !made.pointer) {
      const Clock::time_point start = Clock::now();
      made.pointer = std::make_shared<const Specialization>(make(bound));
      specialize_ns_.fetch_add(nanoseconds_since(start), std::memory_order_relaxed);
    }
    all.push_back(std::move(made));
  }
  for (const Made& made : all) {
    if (!binder_.is_static()) {
      cache_.insert(made.key, made.pointer);
    }
    prepare_memory(*made.pointer);
  }
  share_budget();
}

void Engine::prepare_memory(const Specialization& s) {
  std::vector<int64_t> sizes;
  if (s.memory.arena_bytes > 0) {
    sizes.push_back(s.memory.arena_bytes);
  }
  for (const Slot& slot : plan_.slots) {
    if (slot.memory == Memory::output) {
      sizes.push_back(s.bytes(slot));
    }
  }
  memory_.prepare(sizes);
  const RunStates::Lease state(states_);  // there is one then
  Execution::reserve(context_, *state);
  state->key.reserve(binder_.key_size());
  thread_scratch(1);
}

/// Specializations and results have a quarter each at most; memory between runs has what they leave.
void Engine::share_budget() {
  memory_.set_idle_limit(budget_.load(std::memory_order_relaxed) - cache_.counters().bytes - results_.counters().bytes);
}

void Engine::set_memory_budget(int64_t bytes) {
  if (bytes < 0) {
    fail("a budget of {} bytes", bytes);
  }
  budget_.store(bytes, std::memory_order_relaxed);
  cache_.set_byte_limit(bytes / 4);
  results_.set_byte_limit(bytes / 4);
  share_budget();
}

// ---------------------------------------------------------------------------------------------------------------------
// Runs

template <class Finish>
auto Engine::execute(RunState& state, std::span<Array> donated, const RunOptions& options, const Finish& finish) {
  const SpecializationCache::Pointer s = find(state.key, [&] { return binder_.bind(state.inputs, options.bindings); });
  Execution execution(context_, *s, state, donated);
  const Executor executor = options.threads == 1 || pool_.size() == 1 ? execute_inline : execute_parallel;
  if (options.cancel == nullptr && options.trace == nullptr && !options_.before_step) {
    execution.run(executor, options.threads, nullptr);
    return finish(execution);
  }
  Watch watch(options.cancel, options.trace, &options_.before_step);
  try {
    execution.run(executor, options.threads, &watch);
  } catch (...) {
    report_trace(watch, *s);
    throw;
  }
  report_trace(watch, *s);
  return finish(execution);
}

namespace {

/// Counts a run and its time when it ends, well or not.
class Timer {
 public:
  Timer(std::atomic<int64_t>& runs, std::atomic<int64_t>& nanoseconds) : nanoseconds_(nanoseconds) {
    runs.fetch_add(1, std::memory_order_relaxed);
  }
  ~Timer() { nanoseconds_.fetch_add(nanoseconds_since(start_), std::memory_order_relaxed); }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

 private:
  std::atomic<int64_t>& nanoseconds_;
  Clock::time_point start_ = Clock::now();
};

}  // namespace

std::vector<Array> Engine::run_arrays(RunState& state, std::span<Array> donated, const RunOptions& options) {
  bind_or_fail(state, options.bindings);
  const auto collect = [](const Execution& execution) { return execution.arrays(); };
  if (!options.reuse_results) {
    return execute(state, donated, options, collect);
  }
  ResultKey key = result_key(state.key, state.inputs);
  if (std::optional<std::vector<Array>> known = results_.find(key)) {
    return *std::move(known);
  }
  std::vector<Array> results = execute(state, donated, options, collect);
  results_.keep(std::move(key), results);
  share_budget();
  return results;
}

std::vector<Array> Engine::run(std::span<const Array> inputs, std::span<Array> donated, const RunOptions& options) {
  const Timer timer(runs_, run_ns_);
  const RunStates::Lease state(states_);
  describe_inputs(*state, inputs);
  return run_arrays(*state, donated, options);
}

std::vector<Array> Engine::run(std::span<const TensorView> inputs, const RunOptions& options) {
  const Timer timer(runs_, run_ns_);
  const RunStates::Lease state(states_);
  describe(state->inputs, inputs, "input");
  state->outputs.clear();
  return run_arrays(*state, {}, options);
}

std::vector<StridedArray> Engine::run_views(std::span<const Array> inputs, const RunOptions& options) {
  const Timer timer(runs_, run_ns_);
  const RunStates::Lease state(states_);
  describe_inputs(*state, inputs);
  bind_or_fail(*state, options.bindings);
  return execute(*state, {}, options, [](const Execution& execution) { return execution.views(); });
}

void Engine::run_into(std::span<const TensorView> inputs, std::span<const TensorView> outputs,
                      const RunOptions& options) {
  const Timer timer(runs_, run_ns_);
  const RunStates::Lease state(states_);
  describe(state->inputs, inputs, "input");
  describe(state->outputs, outputs, "output");
  if (outputs.size() != outputs_.size()) {
    fail("graph `{}` gives {} outputs, but memory was given for {}", program_.name, outputs_.size(), outputs.size());
  }
  bind_or_fail(*state, options.bindings);
  execute(*state, {}, options, [](const Execution& execution) { execution.write_outputs(); });
}

// ---------------------------------------------------------------------------------------------------------------------
// Reports

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
                      .step = stretch.step + 1,
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
