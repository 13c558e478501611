#include "tenon/executable.h"

#include <algorithm>

#include "base/fail.h"
#include "runtime/run/runnable.h"

namespace tenon {
namespace {

/// Steps of a kind, those of bodies included.
int count_steps(const std::vector<StepReport>& steps, StepKind kind) {
  int count = 0;
  for (const StepReport& step : steps) {
    count += step.kind == kind ? 1 : 0;
    for (const BodyReport& body : step.bodies) {
      count += count_steps(body.steps, kind);
    }
  }
  return count;
}

/// What runs here reads the memory of the CPU alone.
void require_on_cpu(std::span<const Array> inputs, const std::vector<Port>& declared) {
  for (size_t i = 0; i < std::min(inputs.size(), declared.size()); ++i) {
    if (inputs[i].place().kind != DeviceKind::cpu) [[unlikely]] {
      fail("input `{}` is in the memory of {}; this program runs on the CPU and takes inputs from its memory",
           declared[i].name, to_string(inputs[i].place()));
    }
  }
}

}  // namespace

Executable::Executable(std::shared_ptr<runtime::Runnable> program) : program_(std::move(program)) {}

runtime::Runnable& Executable::program() const {
  if (!program_) {
    fail("this executable was moved from: it has no program any more");
  }
  return *program_;
}

std::vector<Array> Executable::run(const std::vector<Array>& inputs, const RunOptions& options) const {
  require_on_cpu(inputs, program().inputs());
  return program().run(inputs, {}, options);
}

std::vector<Array> Executable::run(std::vector<Array>&& inputs, const RunOptions& options) const {
  require_on_cpu(inputs, program().inputs());
  return program().run(inputs, inputs, options);
}

std::vector<StridedArray> Executable::run_views(const std::vector<Array>& inputs, const RunOptions& options) const {
  require_on_cpu(inputs, program().inputs());
  return program().run_views(inputs, options);
}

std::vector<Array> Executable::run_borrowed(std::span<const TensorView> inputs, const RunOptions& options) const {
  return program().run(inputs, options);
}

void Executable::run_into(std::span<const TensorView> inputs, std::span<const TensorView> outputs,
                          const RunOptions& options) const {
  program().run_into(inputs, outputs, options);
}

std::vector<Shape> Executable::output_shapes(const Bindings& bindings) const {
  return program().output_shapes(bindings);
}

void Executable::specialize(const Bindings& bindings) const { program().pre_specialize({&bindings, 1}); }
void Executable::pre_specialize(std::span<const Bindings> list) const { program().pre_specialize(list); }

MemoryReport Executable::memory(const Bindings& bindings) const { return program().memory(bindings); }
std::vector<PipelineReport> Executable::pipelines(const Bindings& bindings) const {
  return program().pipelines(bindings);
}

void Executable::set_memory_budget(int64_t bytes) const { program().set_memory_budget(bytes); }

const std::string& Executable::name() const { return program().name(); }
const std::vector<Port>& Executable::inputs() const { return program().inputs(); }
const std::vector<Port>& Executable::outputs() const { return program().outputs(); }
const std::vector<StepReport>& Executable::steps() const { return program().steps(); }
const std::vector<SegmentReport>& Executable::segments() const { return program().segments(); }

int Executable::kernel_count() const { return count_steps(steps(), StepKind::kernel) + copy_count(); }
int Executable::copy_count() const { return count_steps(steps(), StepKind::copy); }

RunCounters Executable::counters() const { return program().counters(); }
Capabilities Executable::capabilities() const { return program().capabilities(); }

}  // namespace tenon
