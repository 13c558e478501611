#include "devices/device.h"
#include "runtime/run/executor.h"

namespace tenon::runtime {
namespace {

/// Where what a step reads or writes lies, and how large it is.
class Operands {
 public:
  Operands(const Run& run, const Step& step, const StepPlan& plan) {
    dims_.reserve(plan.dims.size());
    for (const std::vector<ExtentId>& dims : plan.dims) {
      dims_.push_back(run.s.values_of(dims));
    }
    add(run, step.reads);
    add(run, step.writes);
    reads_ = step.reads.size();
  }

  std::span<const library::Memory> reads() const { return std::span(all_).first(reads_); }
  std::span<const library::Memory> writes() const { return std::span(all_).subspan(reads_); }

 private:
  void add(const Run& run, const std::vector<int>& buffers) {
    for (const int buffer : buffers) {
      const auto slot = static_cast<size_t>(buffer);
      all_.push_back(
          {.dtype = run.context.plan.slots[slot].dtype, .data = run.state.pointers[slot], .dims = dims_[all_.size()]});
    }
  }

  std::vector<std::vector<int64_t>> dims_;
  std::vector<library::Memory> all_;
  size_t reads_ = 0;
};

}  // namespace

void run_library_step(const Run& run, int step) {
  const auto at = static_cast<size_t>(step);
  const Step& described = run.context.program.steps[at];
  const LibraryRoutine& routine = std::get<RoutineStep>(described.what).routine;
  const Operands operands(run, described, run.context.plan.steps[at]);
  devices::RoutineCall call{
      .routine = routine, .reads = operands.reads(), .writes = operands.writes(), .threads = run.threads};
  if (run.watch == nullptr) {
    run.context.device.run_routine(call);
    return;
  }
  run.watch->before(run.watched(step));
  call.before_chunk = [&] { run.watch->before(run.watched(step)); };
  const int64_t start = run.watch->now();
  run.context.device.run_routine(call);
  if (run.watch->traces()) {
    run.watch->add(
        {.step = run.watched(step), .inside = inside(run, step), .begin_ns = start, .end_ns = run.watch->now()});
  }
}

}  // namespace tenon::runtime
