#include "tenon/executable.h"

#include <new>
#include <string>

#include "base/fail.h"
#include "runtime/memory/device_array.h"
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

/// Inputs lie in the memory of the CPU or of the device that runs the program.
void require_reachable(std::span<const Array> inputs, const runtime::Runnable& program) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const MemoryPlace& place = inputs[i].place();
    if (place.kind != DeviceKind::cpu && place != program.device().place()) [[unlikely]] {
      fail("input {} is in the memory of {}; this program runs on {} and takes inputs from its memory",
           i < program.inputs().size() ? fmt::format("`{}`", program.inputs()[i].name) : std::to_string(i),
           to_string(place), program.device().is_host() ? "the CPU" : to_string(program.device().place()));
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
  require_reachable(inputs, program());
  return program().run(inputs, {}, options);
}

std::vector<Array> Executable::run(std::vector<Array>&& inputs, const RunOptions& options) const {
  require_reachable(inputs, program());
  return program().run(inputs, inputs, options);
}

Array Executable::to_cpu(const Array& array) const {
  if (array.place().kind == DeviceKind::cpu) {
    return array;
  }
  if (array.place() != program().device().place()) {
    fail("this array is in the memory of {}, which does not run the program", to_string(array.place()));
  }
  return runtime::copied_out(program().device(), array);
}

Array Executable::to_device(const Array& array) const {
  devices::Device& device = program().device();
  if (array.place().kind != DeviceKind::cpu && array.place() != device.place()) {
    fail("this array is in the memory of {}, which does not run the program", to_string(array.place()));
  }
  if (device.is_host() || array.place() == device.place()) {
    return array;
  }
  const auto bytes = static_cast<int64_t>(array.byte_count());
  const auto release = [program = program_](std::byte* memory) { program->device().release(memory); };
  std::shared_ptr<std::byte[]> memory;
  try {
    memory = std::shared_ptr<std::byte[]>(device.allocate(bytes), release);
  } catch (const std::bad_alloc&) {
    fail("{} has no memory for an array of {} bytes", to_string(device.place()), bytes);
  }
  device.copy_in(memory.get(), array.data(), bytes);
  device.wait();  // runs on other threads read it
  return runtime::array_on(device, array.dtype(), array.dims(), std::move(memory));
}

std::vector<StridedArray> Executable::run_views(const std::vector<Array>& inputs, const RunOptions& options) const {
  require_reachable(inputs, program());
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
