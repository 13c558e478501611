// What a program needs to know of its sizes, made once: every symbolic number it depends on as one list, so that a
// binding is one run of one extent program. Lists are flat: what belongs to a step or a kernel is a range of one.
#pragma once

#include <string>
#include <vector>

#include "kernel/program/program.h"
#include "runtime/plan/dependencies.h"
#include "shape/extent_program.h"

namespace tenon::runtime {

/// An index into Plan::extents and Specialization::values.
using ExtentId = int;

/// A range of one of the flat lists.
struct Span {
  uint32_t first = 0;
  uint32_t count = 0;

  uint32_t end() const { return first + count; }
};

/// Memory that steps use: a buffer of the program, or a partial buffer of one part.
struct Slot {
  Dtype dtype = Dtype::f32;
  Memory memory = Memory::intermediate;
  int source = -1;  // input, constant: which
  ExtentId elements = 0;
  int first = -1;  // the steps that use it first and last; -1 when none does
  int last = -1;
  bool written = false;  // by any step
  int output = -1;       // the first output that lies there
  int outputs = 0;       // how many do
  int in_place = -1;  // the slot whose memory it may take over where both have the same size: runtime/plan/in_place.h;
                      // of an output, an input that may be given
};

struct PhasePlan {
  ExtentId grid = 0;  // iterations
  ExtentId work = 0;  // of one iteration
};

struct KernelPlan {
  Span sizes;   // of Plan::sizes: loops::runtime_sizes
  Span phases;  // of Plan::phases
  ExtentId scratch = 0;
};

/// An index into Plan::row_extents, which are computed where a region may pay.
using RowExtentId = int;

/// loops::Touched.
struct TouchedPlan {
  RowExtentId first = 0;
  RowExtentId last = 0;
  RowExtentId step = 0;
  RowExtentId item_step = 0;
  RowExtentId least = -1;  // -1: none
  RowExtentId most = -1;
};

/// What rows of a part of a region do with a buffer that a step of it writes.
struct RowUsePlan {
  int slot = -1;
  int argument = 0;  // of the kernel
  bool writes = false;
  Span touched = {};  // of Plan::touched
};

/// Of a part of a region.
struct RowsPlan {
  RowExtentId items = 0;
  RowExtentId rows = 0;  // of an item
  Span uses = {};        // of Plan::row_uses
};

struct PartPlan {
  int kernel = -1;
  int step = -1;
  int long_rows = -1;         // the part that runs instead where rows are long
  int long_rows_of = -1;      // ... and the other way round:
  ExtentId row_bytes = 0;     // where these are more than Plan::most_row_bytes
  size_t first_argument = 0;  // in Plan::arguments, one for each buffer of the kernel
  Span writes = {};           // of Plan::writes; none where it does more than write, so that it always runs
  RowsPlan rows = {};
};

/// Step::what says which of these a step has.
struct StepPlan {
  Span parts;                               // of Plan::parts; none for a step without kernels
  int phases = 0;                           // the most that a part has
  Span bodies;                              // of Plan::bodies
  ExtentId trips = 0;                       // of a loop
  std::vector<std::vector<ExtentId>> dims;  // of a routine: of what it reads, then of what it writes
  int like = -1;  // in a region: the first step from which on kMostRegionSteps steps are like those from here on, at
                  // any sizes: layers of a network that are built alike (runtime/plan/like_steps.h)
};

/// The most steps of a region: with more, halos add more than tiles save.
inline constexpr int kMostRegionSteps = 8;

struct OutputPlan {
  int slot = -1;
  ExtentId offset = 0;
  std::vector<ExtentId> dims;
  std::vector<ExtentId> strides;
  bool is_slot = false;  // its slot is memory for outputs, and it the first that lies there
};

struct Plan {
  std::vector<std::string> names;  // sorted
  std::vector<Extent> extents;
  ExtentProgram program;  // of extents
  std::vector<Extent> row_extents;
  ExtentProgram row_program;   // of row_extents
  std::vector<Slot> slots;     // the program's buffers, then partial ones
  std::vector<int> arguments;  // of all parts: slots, -1 for scratch
  std::vector<int> writes;     // slots
  std::vector<ExtentId> sizes;
  std::vector<PhasePlan> phases;
  std::vector<KernelPlan> kernels;
  std::vector<PartPlan> parts;
  std::vector<RowUsePlan> row_uses;
  std::vector<TouchedPlan> touched;
  std::vector<StepPlan> steps;
  StepGraph dependencies;  // of steps on the contents of slots; the arena adds none, because it follows the order
  std::vector<OutputPlan> outputs;
  int64_t most_row_bytes = 0;
  double least_shared_work = 0;
  std::vector<Plan> bodies;  // of control steps, in order; names in them are among these names
  size_t ranges = 0;         // at most so many in a specialization,
  size_t launches = 0;       // in so many launches
};

/// TENON_CHECKs that the program is consistent: indices, ranks, and that no step reads an intermediate that none wrote.
Plan make_plan(const Program& program);

}  // namespace tenon::runtime
