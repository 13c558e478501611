// What an Executable is a handle of.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/binder.h"
#include "runtime/cache.h"
#include "runtime/make_executable.h"
#include "runtime/memory_pool.h"
#include "runtime/plan.h"

namespace tenon::runtime {

/// The program and all that is made of it without sizes, the specializations made so far, and memory for runs.
class Engine {
 public:
  Engine(Program program, std::vector<KernelEntry> code, ConstraintSet constraints, std::shared_ptr<void> keep_alive,
         const RuntimeOptions& options);

  /// `donated` is empty, or the inputs themselves, which may then be written or taken.
  std::vector<StridedArray> run(std::span<const Array> inputs, std::span<Array> donated, const RunOptions& options);
  SpecializationCache::Pointer specialization(const Bindings& bindings);

  const Program& program() const { return program_; }
  const std::vector<Port>& inputs() const { return inputs_; }
  const std::vector<Port>& outputs() const { return outputs_; }
  const std::vector<StepReport>& steps() const { return steps_; }
  RunCounters counters() const;

 private:
  SpecializationCache::Pointer specialization(std::span<const Array> inputs, const Bindings& known);
  Specialization make(const Bindings& bindings) const;

  std::shared_ptr<void> keep_alive_;  // first, so that it goes last
  const Program program_;
  const std::vector<KernelEntry> code_;
  Pool& pool_;
  const Plan plan_;
  const Binder binder_;
  std::vector<Port> inputs_;
  std::vector<Port> outputs_;
  std::vector<StepReport> steps_;
  SpecializationCache cache_;
  MemoryPool memory_;
  std::atomic<int64_t> runs_ = 0;
};

}  // namespace tenon::runtime
