#include <algorithm>

#include "base/fail.h"
#include "base/float_mode.h"
#include "runtime/run/clock.h"
#include "runtime/run/engine.h"
#include "runtime/run/execution.h"

namespace tenon::runtime {
namespace {

void describe_inputs(RunState& state, std::span<const Array> inputs) {
  state.outputs.clear();
  state.inputs.clear();
  for (const Array& input : inputs) {
    state.inputs.push_back(operand_anywhere(input));
  }
}

void describe(std::vector<Operand>& operands, std::span<const TensorView> views, const char* what) {
  operands.clear();
  for (size_t i = 0; i < views.size(); ++i) {
    operands.push_back(operand_of(views[i], what, i));
  }
}

/// Whether a run has to do with arrays that are not in the CPU's memory.
bool is_on_device(const std::vector<Operand>& inputs, const RunOptions& options) {
  return options.results_on_device || std::ranges::any_of(inputs, [](const Operand& input) {
           return input.array != nullptr && input.array->place().kind != DeviceKind::cpu;
         });
}

}  // namespace

template <class Finish>
auto Engine::execute(RunState& state, std::span<Array> donated, const RunOptions& options, const Finish& finish) {
  if (options.threads < 0) {
    fail("RunOptions::threads is {}; it is the most threads that a run may use, and 0 stands for all of the machine's",
         options.threads);
  }
  if (options.flush_denormals && !FloatMode::can_flush()) {
    fail("RunOptions::flush_denormals: this processor has no mode that takes denormals for 0");
  }
  const SpecializationCache::Pointer s = find(state.key, Unbound{state.inputs, options.bindings});
  Execution execution(context_, *s, state, donated);
  const Executor executor = executor_for(context_, options.threads);
  const auto run = [&](Watch* watch) {
    const FlushDenormals flush(options.flush_denormals);
    state.waited_ns = 0;
    execution.run(executor, options.threads, watch, options.observer);
    if (s->too_small.get()) [[unlikely]] {
      widen(state.key, *s);
    }
    if (state.waited_ns > 0) {
      waited_ns_.fetch_add(state.waited_ns, std::memory_order_relaxed);
    }
    if (s->tiles > 0) {
      tiles_.fetch_add(s->tiles, std::memory_order_relaxed);
      kept_bytes_.fetch_add(s->kept_bytes, std::memory_order_relaxed);
    }
  };
  if (options.cancel == nullptr && options.trace == nullptr && !options_.before_step) {
    run(nullptr);
    return finish(execution);
  }
  Watch watch(options, &options_.before_step);
  try {
    run(&watch);
  } catch (...) {
    report_trace(watch, *s);
    throw;
  }
  report_trace(watch, *s);
  return finish(execution);
}

std::vector<Array> Engine::run_arrays(RunState& state, std::span<Array> donated, const RunOptions& options) {
  bind_or_fail(state, options.bindings);
  const auto collect = [&](const Execution& execution) { return execution.arrays(options.results_on_device); };
  if (!options.reuse_results || (!context_.is_host && is_on_device(state.inputs, options))) {
    return execute(state, donated, options, collect);
  }
  ResultKey key = result_key(state.key, state.inputs, options.flush_denormals);
  if (std::optional<std::vector<Array>> known = results_.find(key)) {
    return *std::move(known);
  }
  std::vector<Array> results = execute(state, donated, options, collect);
  results_.keep(std::move(key), results);
  share_budget();
  return results;
}

std::vector<Array> Engine::run(std::span<const Array> inputs, std::span<Array> donated, const RunOptions& options) {
  runs_.fetch_add(1, std::memory_order_relaxed);
  const TimeInto time(run_ns_);
  const RunStates::Lease state(states_);
  describe_inputs(*state, inputs);
  return run_arrays(*state, donated, options);
}

std::vector<Array> Engine::run(std::span<const TensorView> inputs, const RunOptions& options) {
  runs_.fetch_add(1, std::memory_order_relaxed);
  const TimeInto time(run_ns_);
  const RunStates::Lease state(states_);
  describe(state->inputs, inputs, "input");
  state->outputs.clear();
  return run_arrays(*state, {}, options);
}

std::vector<Array> Engine::run_operands(std::span<const Operand> inputs, const RunOptions& options) {
  runs_.fetch_add(1, std::memory_order_relaxed);
  const TimeInto time(run_ns_);
  const RunStates::Lease state(states_);
  state->inputs.assign(inputs.begin(), inputs.end());
  state->outputs.clear();
  return run_arrays(*state, {}, options);
}

std::vector<StridedArray> Engine::run_views(std::span<const Array> inputs, const RunOptions& options) {
  runs_.fetch_add(1, std::memory_order_relaxed);
  const TimeInto time(run_ns_);
  const RunStates::Lease state(states_);
  describe_inputs(*state, inputs);
  bind_or_fail(*state, options.bindings);
  return execute(*state, {}, options, [](const Execution& execution) { return execution.views(); });
}

void Engine::run_into(std::span<const TensorView> inputs, std::span<const TensorView> outputs,
                      const RunOptions& options) {
  runs_.fetch_add(1, std::memory_order_relaxed);
  const TimeInto time(run_ns_);
  const RunStates::Lease state(states_);
  describe(state->inputs, inputs, "input");
  describe(state->outputs, outputs, "output");
  if (outputs.size() != outputs_.size()) {
    fail("graph `{}` gives {} outputs, but memory was given for {}", program_.name, outputs_.size(), outputs.size());
  }
  bind_or_fail(*state, options.bindings);
  execute(*state, {}, options, [](const Execution& execution) { execution.write_outputs(); });
}

}  // namespace tenon::runtime
