#include "tenon/executable.h"

#include <algorithm>

#include "runtime/engine.h"

namespace tenon {
namespace {

std::vector<Array> contiguous(const std::vector<StridedArray>& views) {
  std::vector<Array> result;
  result.reserve(views.size());
  for (const StridedArray& view : views) {
    result.push_back(view.contiguous());
  }
  return result;
}

}  // namespace

Executable::Executable(std::shared_ptr<runtime::Engine> engine) : engine_(std::move(engine)) {}

Executable make_executable(Program program, std::vector<KernelEntry> code, ConstraintSet constraints,
                           std::shared_ptr<void> keep_alive, const RuntimeOptions& options) {
  return Executable(std::make_shared<runtime::Engine>(std::move(program), std::move(code), std::move(constraints),
                                                      std::move(keep_alive), options));
}

std::vector<Array> Executable::run(const std::vector<Array>& inputs, const RunOptions& options) const {
  return contiguous(engine_->run(inputs, {}, options));
}

std::vector<Array> Executable::run(std::vector<Array>&& inputs, const RunOptions& options) const {
  return contiguous(engine_->run(inputs, inputs, options));
}

std::vector<StridedArray> Executable::run_views(const std::vector<Array>& inputs, const RunOptions& options) const {
  return engine_->run(inputs, {}, options);
}

void Executable::specialize(const Bindings& bindings) const { engine_->specialization(bindings); }

MemoryReport Executable::memory(const Bindings& bindings) const { return engine_->specialization(bindings)->memory; }

const std::string& Executable::name() const { return engine_->program().name; }
const std::vector<Port>& Executable::inputs() const { return engine_->inputs(); }
const std::vector<Port>& Executable::outputs() const { return engine_->outputs(); }
const std::vector<StepReport>& Executable::steps() const { return engine_->steps(); }

int Executable::kernel_count() const {
  return static_cast<int>(std::ranges::count_if(steps(), [](const auto& step) { return step.kind != StepKind::host; }));
}

int Executable::copy_count() const {
  return static_cast<int>(std::ranges::count_if(steps(), [](const auto& step) { return step.kind == StepKind::copy; }));
}

RunCounters Executable::counters() const { return engine_->counters(); }

}  // namespace tenon
