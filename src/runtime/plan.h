// What a program needs to know of its sizes, made once: every symbolic number it depends on as one list, so that a
// binding is one run of one extent program.
#pragma once

#include <string>
#include <vector>

#include "kernel/program.h"
#include "shape/extent_program.h"

namespace tenon::runtime {

/// An index into Plan::extents and Specialization::values.
using ExtentId = int;

/// Memory that steps use: a buffer of the program, or a partial buffer of one part.
struct Slot {
  Dtype dtype = Dtype::f32;
  Memory memory = Memory::intermediate;
  int source = -1;  // input, constant: which
  ExtentId elements = 0;
  int first = -1;  // the steps that use it first and last; -1 when none does
  int last = -1;
  bool written = false;  // by any step
};

struct KernelPlan {
  std::vector<ExtentId> sizes;  // loops::runtime_sizes
  std::vector<ExtentId> grids;  // of each phase: iterations
  std::vector<ExtentId> work;   // of each phase: work of one iteration
  ExtentId scratch = 0;
};

struct PartPlan {
  int kernel = -1;
  int long_rows = -1;         // the part that runs instead when this one's scratch is too large
  int long_rows_of = -1;      // ... and the other way round
  size_t first_argument = 0;  // in Plan::arguments, one for each buffer of the kernel
};

struct StepPlan {
  std::vector<PartPlan> parts;
  int phases = 0;                           // the most that a part has
  std::vector<std::vector<ExtentId>> dims;  // host: of what it reads, then of what it writes
};

struct OutputPlan {
  int slot = -1;
  ExtentId offset = 0;
  std::vector<ExtentId> dims;
  std::vector<ExtentId> strides;
};

struct Plan {
  std::vector<std::string> names;  // sorted
  std::vector<Extent> extents;
  ExtentProgram sizes;
  std::vector<Slot> slots;     // the program's buffers, then partial ones
  std::vector<int> arguments;  // of all parts: slots, -1 for scratch
  std::vector<KernelPlan> kernels;
  std::vector<StepPlan> steps;
  std::vector<OutputPlan> outputs;
};

/// TENON_CHECKs that the program is consistent: indices, ranks, and that no step reads an intermediate that none wrote.
Plan make_plan(const Program& program);

}  // namespace tenon::runtime
