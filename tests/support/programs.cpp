#include "support/programs.h"

#include <fmt/format.h>

#include "base/fail.h"
#include "devices/cpu/cpu_device.h"
#include "kernel/loop/loop_run.h"
#include "library/library.h"
#include "support/loop_builder.h"

namespace tenon {

int ProgramBuilder::add(Dtype dtype, const Extent& elements, Memory memory, int source) {
  program_.buffers.push_back({.dtype = dtype, .elements = elements, .memory = memory, .source = source});
  return static_cast<int>(program_.buffers.size()) - 1;
}

int ProgramBuilder::input(const std::string& name, const Shape& shape) {
  const int buffer = add(shape.dtype(), shape.element_count(), Memory::input, static_cast<int>(program_.inputs.size()));
  program_.inputs.push_back({.name = name, .shape = shape, .buffer = buffer});
  return buffer;
}

int ProgramBuilder::constant(const Array& value) {
  program_.constants.push_back(value);
  return add(value.dtype(), value.size(), Memory::constant, static_cast<int>(program_.constants.size()) - 1);
}

int ProgramBuilder::intermediate(Dtype dtype, const Extent& elements) {
  return add(dtype, elements, Memory::intermediate);
}

int ProgramBuilder::output(const std::string& name, const Shape& shape) {
  const int buffer = add(shape.dtype(), shape.element_count(), Memory::output);
  std::vector<Extent> strides(shape.axes().size());
  Extent stride = 1;
  for (size_t i = strides.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= shape.extent(static_cast<int>(i));
  }
  view(name, shape, buffer, 0, std::move(strides));
  return buffer;
}

void ProgramBuilder::view(const std::string& name, const Shape& shape, int buffer, const Extent& offset,
                          std::vector<Extent> strides) {
  program_.outputs.push_back(
      {.name = name, .shape = shape, .buffer = buffer, .offset = offset, .strides = std::move(strides)});
}

LaunchPart ProgramBuilder::part(const loops::Kernel& kernel, std::vector<int> buffers) {
  return {.kernel = add_kernel(program_, kernel), .buffers = std::move(buffers)};
}

void ProgramBuilder::step(const std::string& label, std::vector<LaunchPart> parts, const std::string& boundary) {
  Step step;
  step.label = label;
  step.boundary = boundary;
  for (const LaunchPart& part : parts) {
    const std::vector<loops::Buffer>& buffers = program_.kernels.at(static_cast<size_t>(part.kernel)).buffers;
    for (size_t i = 0; i < buffers.size(); ++i) {
      if (buffers[i].role == loops::Role::input) {
        step.reads.push_back(part.buffers.at(i));
      } else if (buffers[i].role == loops::Role::output) {
        step.writes.push_back(part.buffers.at(i));
      }
    }
  }
  step.what = LaunchStep{std::move(parts)};
  program_.steps.push_back(std::move(step));
}

void ProgramBuilder::library(LibraryRoutine routine, std::vector<int> reads, std::vector<int> writes,
                             std::vector<Shape> shapes) {
  Step step;
  step.label = std::string(library::name(routine));
  step.what = RoutineStep{.routine = std::move(routine), .shapes = std::move(shapes)};
  add_alone(std::move(step), std::move(reads), std::move(writes));
}

void ProgramBuilder::control(Control control, std::vector<Program> bodies, std::vector<int> reads,
                             std::vector<int> writes) {
  Step step;
  step.label = "control";
  step.what = ControlStep{.control = std::move(control), .bodies = std::move(bodies)};
  add_alone(std::move(step), std::move(reads), std::move(writes));
}

void ProgramBuilder::add_alone(Step step, std::vector<int> reads, std::vector<int> writes) {
  step.reads = std::move(reads);
  step.writes = std::move(writes);
  program_.steps.push_back(std::move(step));
}

Executable ProgramBuilder::executable(const ConstraintSet& constraints, const runtime::RuntimeOptions& options) const {
  return executable_of(program_, constraints, options);
}

Executable executable_of(const Program& program, const ConstraintSet& constraints,
                         const runtime::RuntimeOptions& options) {
  std::vector<KernelEntry> code;
  for (const loops::Kernel* kernel : all_kernels(program)) {
    code.push_back(loops::interpreted(*kernel));
  }
  return executable_of(program, std::move(code), constraints, options);
}

Executable executable_of(Program program, std::vector<KernelEntry> code, const ConstraintSet& constraints,
                         const runtime::RuntimeOptions& options) {
  Signature signature = signature_of(program);
  return executable_of(std::move(program), std::move(signature), std::move(code), constraints, options);
}

Executable executable_of(Program program, Signature signature, std::vector<KernelEntry> code,
                         const ConstraintSet& constraints, const runtime::RuntimeOptions& options) {
  TENON_CHECK(code.size() == kernel_count(program), "{} functions for {} kernels", code.size(), kernel_count(program));
  lay_out_constants(program);
  runtime::Segments whole;
  whole.code = std::make_shared<devices::HostCode>(std::move(code));
  whole.signature = std::move(signature);
  whole.segments.push_back({.program = std::move(program), .inputs = {}, .binds = {}, .constraints = constraints});
  return runtime::make_executable(std::move(whole), options);
}

ProgramBuilder program_of(const loops::Kernel& kernel) {
  ProgramBuilder program(kernel.name);
  std::vector<int> buffers;
  for (const loops::Buffer& buffer : kernel.buffers) {
    const std::string name = fmt::format("b{}", buffers.size());
    const Shape flat(buffer.dtype, {Axis(buffer.elements)});
    buffers.push_back(buffer.role == loops::Role::input    ? program.input(name, flat)
                      : buffer.role == loops::Role::output ? program.output(name, flat)
                                                           : -1);
  }
  program.step(kernel, buffers);
  return program;
}

loops::Kernel scale_kernel(const Extent& elements, double factor, double offset) {
  LoopBuilder k("scale");
  const int t = k.axis("t", ceildiv(elements, 64));
  const int i = k.tile("i", 64, t, elements, true);
  const int x = k.input(f32, elements);
  const int y = k.output(f32, elements);
  k.phase({t}, [&] {
    k.loop(i, [&] {
      const int product = k.compute(Prim::mul, {k.load(x, affine({{t, 64}, {i, 1}})), k.constant(f32, factor)});
      k.store(y, affine({{t, 64}, {i, 1}}), k.compute(Prim::add, {product, k.constant(f32, offset)}));
    });
  });
  return k.kernel();
}

}  // namespace tenon
