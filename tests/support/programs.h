// Programs by hand, for what runs them.
#pragma once

#include <string>
#include <vector>

#include "kernel/program/program.h"
#include "runtime/run/make_executable.h"

namespace tenon {

/// Adds to one program. Buffers are their positions in it.
class ProgramBuilder {
 public:
  explicit ProgramBuilder(std::string name) { program_.name = std::move(name); }

  int input(const std::string& name, const Shape& shape);
  int constant(const Array& value);
  int intermediate(Dtype dtype, const Extent& elements);
  /// An output that is a whole new buffer, in row-major order.
  int output(const std::string& name, const Shape& shape);
  void view(const std::string& name, const Shape& shape, int buffer, const Extent& offset, std::vector<Extent> strides);

  /// `buffers` in the order of the kernel's; -1 for scratch and partial ones.
  LaunchPart part(const loops::Kernel& kernel, std::vector<int> buffers);
  /// What it reads and writes follows from the roles of its kernels' buffers.
  void step(const std::string& label, std::vector<LaunchPart> parts, const std::string& boundary = "");
  void step(const loops::Kernel& kernel, std::vector<int> buffers) {
    step(kernel.name, {part(kernel, std::move(buffers))});
  }
  /// `shapes` are of what it reads, then of what it writes.
  void library(LibraryRoutine routine, std::vector<int> reads, std::vector<int> writes, std::vector<Shape> shapes);
  void control(Control control, std::vector<Program> bodies, std::vector<int> reads, std::vector<int> writes);

  const Program& program() const { return program_; }
  /// With the loop IR's interpreter as code.
  Executable executable(const ConstraintSet& constraints = {}, const runtime::RuntimeOptions& options = {}) const;

 private:
  void add_alone(Step step, std::vector<int> reads, std::vector<int> writes);
  int add(Dtype dtype, const Extent& elements, Memory memory, int source = -1);

  Program program_;
};

/// A program that is all there is. `code` has an entry for each of all_kernels(program).
Executable executable_of(Program program, std::vector<KernelEntry> code, const ConstraintSet& constraints = {},
                         const runtime::RuntimeOptions& options = {});
/// The same, known to callers by another signature than the program's.
Executable executable_of(Program program, Signature signature, std::vector<KernelEntry> code,
                         const ConstraintSet& constraints = {}, const runtime::RuntimeOptions& options = {});
/// The same with the loop IR's interpreter as code.
Executable executable_of(const Program& program, const ConstraintSet& constraints = {},
                         const runtime::RuntimeOptions& options = {});

/// A program of the one kernel. Its inputs and outputs are flat and called b0, b1, ... by the kernel's buffers.
ProgramBuilder program_of(const loops::Kernel& kernel);

/// y = x * factor + offset over `elements`, in tiles of 64.
loops::Kernel scale_kernel(const Extent& elements, double factor, double offset);

}  // namespace tenon
