#include <cstring>

#include "base/fail.h"
#include "runtime/executor.h"

namespace tenon::runtime {
namespace {

/// An arena of no bytes is null, which memcpy must not see.
void copy_bytes(std::byte* to, const std::byte* from, size_t bytes) {
  if (bytes > 0) {
    std::memcpy(to, from, bytes);
  }
}

/// The array that a slot is, if it is one that no step writes: the function may keep it.
const Array* array_of(const Run& run, const Slot& slot) {
  if (slot.written) {
    return nullptr;
  }
  const auto source = static_cast<size_t>(slot.source);
  return slot.memory == Memory::constant ? &run.context.program.constants[source]
         : slot.memory == Memory::input  ? run.state.inputs[source].array
                                         : nullptr;
}

void call_function(const Run& run, const Step& step, const StepPlan& plan) {
  std::vector<Array> inputs;
  for (size_t i = 0; i < step.reads.size(); ++i) {
    const auto slot = static_cast<size_t>(step.reads[i]);
    std::vector<int64_t> dims = run.s.values_of(plan.dims[i]);
    if (const Array* const array = array_of(run, run.context.plan.slots[slot])) {
      inputs.push_back(array->reshaped(std::move(dims)));
    } else {
      inputs.push_back(Array::uninitialized(run.context.plan.slots[slot].dtype, std::move(dims)));
      copy_bytes(inputs.back().mutable_data(), run.state.pointers[slot], inputs.back().byte_count());
    }
  }
  const std::vector<Array> results = step.host(inputs, run.s.bindings);
  TENON_CHECK(results.size() == step.writes.size(), "step `{}` gave {} arrays", step.label, results.size());
  for (size_t i = 0; i < results.size(); ++i) {
    const auto slot = static_cast<size_t>(step.writes[i]);
    TENON_CHECK(results[i].dtype() == run.context.plan.slots[slot].dtype &&
                    results[i].dims() == run.s.values_of(plan.dims[step.reads.size() + i]),
                "step `{}` gave {}", step.label, results[i].to_string(0));
    copy_bytes(run.state.pointers[slot], results[i].data(), results[i].byte_count());
  }
}

}  // namespace

void run_host_step(const Run& run, int step) {
  const auto at = static_cast<size_t>(step);
  if (run.watch == nullptr) {
    call_function(run, run.context.program.steps[at], run.context.plan.steps[at]);
    return;
  }
  run.watch->before(step);
  const int64_t start = run.watch->now();
  call_function(run, run.context.program.steps[at], run.context.plan.steps[at]);
  if (run.watch->traces()) {
    run.watch->add({.step = step, .begin_ns = start, .end_ns = run.watch->now()});
  }
}

}  // namespace tenon::runtime
