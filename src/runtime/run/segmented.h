// Several programs as one executable: each runs at the names that those before it have bound.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "runtime/plan/binder.h"
#include "runtime/run/engine.h"
#include "runtime/run/make_executable.h"
#include "runtime/run/runnable.h"

namespace tenon::runtime {

/// Segments share nothing but the budget, in equal parts; whatever one keeps between runs, its engine keeps.
class Segmented : public Runnable {
 public:
  Segmented(Segments segments, const RuntimeOptions& options);

  std::vector<Array> run(std::span<const Array> inputs, std::span<Array> donated, const RunOptions& options) override;
  std::vector<Array> run(std::span<const TensorView> inputs, const RunOptions& options) override;
  std::vector<StridedArray> run_views(std::span<const Array> inputs, const RunOptions& options) override;
  void run_into(std::span<const TensorView> inputs, std::span<const TensorView> outputs,
                const RunOptions& options) override;

  std::vector<Shape> output_shapes(const Bindings& bindings) override;
  void pre_specialize(std::span<const Bindings> list) override;
  MemoryReport memory(const Bindings& bindings) override;
  MemoryTimeline memory_timeline(const Bindings& bindings) override;
  std::vector<PipelineReport> pipelines(const Bindings& bindings) override;
  void set_memory_budget(int64_t bytes) override;

  devices::Device& device() const override { return parts_.front().engine->device(); }
  const std::string& name() const override { return signature_.name; }
  const std::vector<Port>& inputs() const override { return inputs_; }
  const std::vector<Port>& outputs() const override { return outputs_; }
  const std::vector<StepReport>& steps() const override { return steps_; }
  const std::vector<SegmentReport>& segments() const override { return segments_; }
  RunCounters counters() const override;
  SizeCounts size_counts(size_t most) const override;
  Capabilities capabilities() const override { return parts_.front().engine->capabilities(); }

 private:
  struct Part {
    std::unique_ptr<Engine> engine;
    std::vector<SegmentSource> inputs;
    std::vector<BoundAxis> binds;
    std::vector<int>
        last_use;  // of each output: the segment that reads it last; all there are for outputs of the whole
  };
  /// What a run has made so far: the outputs of each segment.
  using Made = std::vector<std::vector<Array>>;

  void find_last_uses();
  Bindings bind(std::span<const Operand> inputs, const Bindings& known) const;
  Bindings known_to(const Part& part, const Bindings& bindings) const;
  /// Run all, with `run_one(segment, options)` giving the outputs of one.
  template <class RunOne>
  std::vector<Array> run_all(Bindings bindings, const RunOptions& options, Made& made, const RunOne& run_one);
  void take_sizes(const Part& part, std::vector<Array>& outputs, Bindings& bindings) const;
  void free_unused(int segment, Made& made) const;
  /// What is known ahead of a run: in the end, and before each segment that can be prepared.
  struct Ahead {
    Bindings bindings;
    std::vector<Bindings> before;
  };
  Ahead bind_ahead(const Bindings& given) const;
  Ahead bind_all(const Bindings& bindings) const;

  const Signature signature_;
  const std::set<std::string, std::less<>> late_;
  const Binder binder_;
  std::vector<SegmentSource> sources_;  // of the outputs of the whole
  std::vector<Port> inputs_;
  std::vector<Port> outputs_;
  std::vector<StepReport> steps_;
  std::vector<SegmentReport> segments_;
  std::vector<Part> parts_;
  std::vector<int> last_use_;  // of each input of the whole: the segment that reads it last
  const double compile_ms_;
  std::atomic<int64_t> runs_ = 0;
  std::atomic<int64_t> run_ns_ = 0;
};

}  // namespace tenon::runtime
