#include "tenon/executable.h"

#include <algorithm>

#include "base/fail.h"
#include "runtime/engine.h"

namespace tenon {

Executable::Executable(std::shared_ptr<runtime::Engine> engine) : engine_(std::move(engine)) {}

Executable make_executable(Program program, std::vector<KernelEntry> code, ConstraintSet constraints,
                           std::shared_ptr<void> keep_alive, const RuntimeOptions& options) {
  return Executable(std::make_shared<runtime::Engine>(std::move(program), std::move(code), std::move(constraints),
                                                      std::move(keep_alive), options));
}

runtime::Engine& Executable::engine() const {
  if (!engine_) {
    fail("this executable was moved from: it has no program any more");
  }
  return *engine_;
}

std::vector<Array> Executable::run(const std::vector<Array>& inputs, const RunOptions& options) const {
  return engine().run(inputs, {}, options);
}

std::vector<Array> Executable::run(std::vector<Array>&& inputs, const RunOptions& options) const {
  return engine().run(inputs, inputs, options);
}

std::vector<StridedArray> Executable::run_views(const std::vector<Array>& inputs, const RunOptions& options) const {
  return engine().run_views(inputs, options);
}

std::vector<Array> Executable::run_borrowed(std::span<const TensorView> inputs, const RunOptions& options) const {
  return engine().run(inputs, options);
}

void Executable::run_into(std::span<const TensorView> inputs, std::span<const TensorView> outputs,
                          const RunOptions& options) const {
  engine().run_into(inputs, outputs, options);
}

std::vector<Shape> Executable::output_shapes(const Bindings& bindings) const {
  const auto specialization = engine().specialization(bindings);
  std::vector<Shape> shapes;
  for (const Port& output : outputs()) {
    shapes.push_back(resolve(output.shape, specialization->bindings));
  }
  return shapes;
}

void Executable::specialize(const Bindings& bindings) const { engine().pre_specialize({&bindings, 1}); }
void Executable::pre_specialize(std::span<const Bindings> list) const { engine().pre_specialize(list); }

MemoryReport Executable::memory(const Bindings& bindings) const { return engine().specialization(bindings)->memory; }

void Executable::set_memory_budget(int64_t bytes) const { engine().set_memory_budget(bytes); }

const std::string& Executable::name() const { return engine().program().name; }
const std::vector<Port>& Executable::inputs() const { return engine().inputs(); }
const std::vector<Port>& Executable::outputs() const { return engine().outputs(); }
const std::vector<StepReport>& Executable::steps() const { return engine().steps(); }

int Executable::kernel_count() const {
  return static_cast<int>(std::ranges::count_if(
      steps(), [](const auto& step) { return step.kind == StepKind::kernel || step.kind == StepKind::copy; }));
}

int Executable::copy_count() const {
  return static_cast<int>(std::ranges::count_if(steps(), [](const auto& step) { return step.kind == StepKind::copy; }));
}

RunCounters Executable::counters() const { return engine().counters(); }
Capabilities Executable::capabilities() const { return engine().capabilities(); }

}  // namespace tenon
