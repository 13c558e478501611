// One program at any sizes: what most executables are.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/background.h"
#include "runtime/memory/memory_pool.h"
#include "runtime/plan/binder.h"
#include "runtime/plan/cache.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/tile_choices.h"
#include "runtime/run/executor.h"
#include "runtime/run/make_executable.h"
#include "runtime/run/result_cache.h"
#include "runtime/run/run_state.h"
#include "runtime/run/runnable.h"

namespace tenon::runtime {

/// What a device has loaded, and where the kernels of a program begin in it.
struct EngineCode {
  std::shared_ptr<const devices::LoadedCode> loaded;
  size_t first_kernel = 0;
};

/// The program and all that is made of it without sizes, the specializations made so far, and memory for runs.
class Engine : public Runnable {
 public:
  Engine(Program program, Signature signature, EngineCode code, ConstraintSet constraints, RuntimeOptions options);

  std::vector<Array> run(std::span<const Array> inputs, std::span<Array> donated, const RunOptions& options) override;
  std::vector<Array> run(std::span<const TensorView> inputs, const RunOptions& options) override;
  /// Of memory of the caller's or of the device's: each operand's array says which.
  std::vector<Array> run_operands(std::span<const Operand> inputs, const RunOptions& options);
  std::vector<StridedArray> run_views(std::span<const Array> inputs, const RunOptions& options) override;
  void run_into(std::span<const TensorView> inputs, std::span<const TensorView> outputs,
                const RunOptions& options) override;

  /// Found, or made, with the tiles that runs have once these are chosen.
  SpecializationCache::Pointer specialization(const Bindings& bindings);
  /// And memory for a run.
  void pre_specialize(std::span<const Bindings> list) override;
  std::vector<Shape> output_shapes(const Bindings& bindings) override;
  MemoryReport memory(const Bindings& bindings) override { return specialization(bindings)->memory; }
  MemoryTimeline memory_timeline(const Bindings& bindings) override;
  std::vector<PipelineReport> pipelines(const Bindings& bindings) override;
  void set_memory_budget(int64_t bytes) override;

  const Program& program() const { return program_; }
  const Binder& binder() const { return binder_; }
  devices::Device& device() const override { return *device_; }
  const std::string& name() const override { return program_.name; }
  const std::vector<Port>& inputs() const override { return inputs_; }
  const std::vector<Port>& outputs() const override { return outputs_; }
  const std::vector<StepReport>& steps() const override { return steps_; }
  const std::vector<SegmentReport>& segments() const override { return segments_; }
  RunCounters counters() const override;
  SizeCounts size_counts(size_t most) const override;
  Capabilities capabilities() const override;

 private:
  /// What inputs of a run are at: not bound yet where the key is new.
  struct Unbound {
    std::span<const Operand> inputs;
    const Bindings& known;
  };
  SpecializationCache::Pointer find(const SpecializationCache::Key& key, std::variant<const Bindings*, Unbound> at);
  Specialization make(const Bindings& bindings, Tiling tiling = Tiling::chosen);
  Specialization make_for_run(const Bindings& bindings);
  /// Replace it by one with tiles, beside the runs.
  void choose_later(const SpecializationCache::Key& key, const Specialization& s);
  /// After a run that found a window of a region too small: the next one has windows that fit.
  void widen(const SpecializationCache::Key& key, const Specialization& s);
  SpecializationCache::Pointer replace(const SpecializationCache::Key& key,
                                       const std::function<Specialization()>& make_new);
  void prepare_memory(const Specialization& s);
  void bind_or_fail(RunState& state, const Bindings& known) const;
  void share_budget();
  template <class Finish>
  auto execute(RunState& state, std::span<Array> donated, const RunOptions& options, const Finish& finish);
  std::vector<Array> run_arrays(RunState& state, std::span<Array> donated, const RunOptions& options);
  /// Of the host, that launch kernels.
  int threads() const { return device_->workers() == nullptr ? 1 : device_->workers()->size(); }
  void report_trace(const Watch& watch, const Specialization& s) const;

  const RuntimeOptions options_;
  const std::shared_ptr<devices::Device> device_;
  const EngineCode code_;
  const Program program_;
  const Signature signature_;
  const Plan plan_;
  const Binder binder_;
  std::vector<Port> inputs_;
  std::vector<Port> outputs_;
  std::vector<StepReport> steps_;
  std::vector<SegmentReport> segments_;  // one
  std::atomic<int64_t> budget_;
  TileChoices tile_choices_;
  SpecializationCache cache_;
  ResultCache results_;
  MemoryPool memory_;
  const Context context_;
  RunStates states_;
  std::mutex static_mutex_;
  std::atomic<bool> has_static_ = false;
  SpecializationCache::Pointer static_;  // of a program without names; written once
  std::atomic<int64_t> runs_ = 0;
  std::atomic<int64_t> tiles_ = 0;
  std::atomic<int64_t> kept_bytes_ = 0;
  std::atomic<int64_t> waited_ns_ = 0;
  std::atomic<int64_t> run_ns_ = 0;
  std::atomic<int64_t> static_ns_ = 0;  // to make the one specialization of a program without names
  BackgroundJobs jobs_;                 // last, so that it goes first
};

}  // namespace tenon::runtime
