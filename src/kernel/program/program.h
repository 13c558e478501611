// A program: the kernels of a compiled graph, the buffers between them and the steps that run them. schedule/ makes it,
// runtime/ runs it at any binding. Plain data.
#pragma once

#include <span>
#include <string>
#include <variant>
#include <vector>

#include "kernel/constants/layout.h"
#include "kernel/facts/kernel_facts.h"
#include "kernel/loop/loop.h"
#include "kernel/program/library_routine.h"
#include "tenon/array.h"
#include "tenon/machine.h"
#include "tenon/shape.h"

namespace tenon {

/// Where the memory of a buffer comes from.
enum class Memory : uint8_t {
  input,         // the caller's; read only, but for the buffer of a donated input
  constant,      // the program's
  intermediate,  // the arena's, from the step that writes it first to the last that reads it
  output,        // made for the caller
};

struct ProgramBuffer {
  Dtype dtype = Dtype::f32;
  Extent elements;
  Memory memory = Memory::intermediate;
  int source = -1;  // input, constant: which

  friend bool operator==(const ProgramBuffer&, const ProgramBuffer&) = default;
};

struct ProgramInput {
  std::string name;
  Shape shape;
  int buffer = -1;

  friend bool operator==(const ProgramInput&, const ProgramInput&) = default;
};

/// An output is a view of a buffer: element (i, j, ...) lies at offset + i * strides[0] + ...
struct ProgramOutput {
  std::string name;
  Shape shape;
  int buffer = -1;
  Extent offset = 0;
  std::vector<Extent> strides;
  int aliases = -1;  // the input whose memory it takes over when that is donated

  friend bool operator==(const ProgramOutput&, const ProgramOutput&) = default;
};

/// One kernel over one list of buffers, in the order of KernelFacts::arguments; -1 for scratch and partial ones, which
/// the runtime provides.
struct LaunchPart {
  int kernel = -1;
  std::vector<int> buffers;
  /// The part of the same step whose place this one takes where rows are too long to stay in cache: where row_bytes are
  /// more than Program::most_row_bytes.
  int long_rows_of = -1;
  Extent row_bytes = 0;  // that the other one keeps in scratch or reads again, in one iteration of the grid

  friend bool operator==(const LaunchPart&, const LaunchPart&) = default;
};

/// The most scratch that a thread is meant to use, in bytes.
inline constexpr int64_t kMostScratch = int64_t{1} << 20;

struct Program;

/// Runs its first body where the bool scalar that it reads first is true, else its second. Both take the rest of what
/// it reads and give what it writes.
struct BranchControl {
  friend bool operator==(const BranchControl&, const BranchControl&) = default;
};

/// Runs its body `trips` times, as the graph's Loop does. It reads `carried` values, `scanned` ones whose first axis
/// has `trips` elements, and others. The body takes the trip (i64), the carried values, one element of each scanned
/// one, and the others; it gives, where `conditional`, whether to go on (bool), then the carried values anew, then
/// elements of what is stacked. The step writes the carried values and the stacks.
struct LoopControl {
  Extent trips;
  int carried = 0;
  int scanned = 0;
  bool conditional = false;

  friend bool operator==(const LoopControl&, const LoopControl&) = default;
};

/// Runs its body once: it takes what the step reads and gives what it writes.
struct CallControl {
  friend bool operator==(const CallControl&, const CallControl&) = default;
};

using Control = std::variant<BranchControl, LoopControl, CallControl>;

/// A buffer that holds something before a step writes to it, and how many elements of it the step writes.
struct PartialWrite {
  int buffer = -1;
  Extent elements;

  friend bool operator==(const PartialWrite&, const PartialWrite&) = default;
};

/// One launch of kernels that are independent of one another; never none.
struct LaunchStep {
  std::vector<LaunchPart> parts;

  friend bool operator==(const LaunchStep&, const LaunchStep&) = default;
};

/// A call of a routine of library/.
struct RoutineStep {
  LibraryRoutine routine;
  std::vector<Shape> shapes;  // of what the step reads, then of what it writes

  friend bool operator==(const RoutineStep&, const RoutineStep&) = default;
};

/// Programs inside of the program: two of a branch, else one.
struct ControlStep {
  Control control;
  std::vector<Program> bodies;  // names in them are the names outside

  friend bool operator==(const ControlStep&, const ControlStep&) = default;
};

/// Steps run in order.
struct Step {
  std::variant<LaunchStep, RoutineStep, ControlStep> what;
  std::vector<int> reads, writes;          // buffers
  std::vector<PartialWrite> updates = {};  // of some of what it writes: the rest stays what it was
  std::string label;                       // the operators in it, for people
  std::vector<std::string> nodes = {};     // names that the model has for them, each once; none where it names none
  std::string boundary;                    // why it ends where it does
  std::string region_end;                  // why no region goes on from it to the next step; empty inside of one
  Extent flops = 0;                        // additions and multiplications of products, for traces; 0: not counted

  friend bool operator==(const Step&, const Step&) = default;
};

/// Steps one after another whose kernels can run tile by tile: a range of rows of one needs ranges of rows of those
/// before it, by what KernelFacts say of both. Each has one phase; each but the first uses what one before it
/// uses.
struct Region {
  int first = 0;
  int count = 0;

  friend bool operator==(const Region&, const Region&) = default;
};

/// How regions are run.
struct Pipelines {
  bool on = true;
  int64_t rows = 0;  // of a tile of the last step; 0: a cost model decides that, and whether a region pays at all
  int64_t cache = int64_t{512} << 10;  // bytes of the second cache of a core
  int64_t last_cache = 0;              // bytes of the cache that cores share; 0: there is none, or it is not known

  friend bool operator==(const Pipelines&, const Pipelines&) = default;
};

/// The form in which kernels read a constant.
struct ConstantLayout {
  int constant = -1;
  layouts::Layout layout;

  friend bool operator==(const ConstantLayout&, const ConstantLayout&) = default;
};

struct Program {
  std::string name;
  std::vector<ProgramInput> inputs;
  std::vector<ProgramOutput> outputs;
  std::vector<ProgramBuffer> buffers;
  std::vector<Array> constants;
  std::vector<ConstantLayout> layouts = {};  // that constants have not got yet: lay_out_constants()
  std::vector<loops::Kernel> kernels;        // what code is made from: add_kernel()
  std::vector<loops::KernelFacts> facts;     // of each of them, which is all that those who run them need
  std::vector<Step> steps;
  std::vector<Region> regions = {};  // in the order of their steps, none of which is in two
  Pipelines pipelines = {};
  int64_t most_row_bytes = kMostRowBytes;        // longer rows are left to the parts that are made for them
  int64_t least_shared_work = kLeastSharedWork;  // CompileOptions::least_shared_work

  /// Equal but for the loops: facts say what these do, and bytes leave them out. Constants are equal by their bits.
  friend bool operator==(const Program& a, const Program& b);
};

/// What a step launches; nothing where it is no launch.
std::span<const LaunchPart> parts_of(const Step& step);

/// The programs inside of a step; none where it controls nothing.
std::span<const Program> bodies_of(const Step& step);
std::span<Program> bodies_of(Step& step);

/// Adds a kernel that is finished but for what may share memory: says that, verifies it and records its facts. Returns
/// its number.
int add_kernel(Program& program, loops::Kernel kernel);

/// Brings constants into the form that kernels read, those of bodies too. Each replaces what it was made of, which goes
/// where nobody else has it: done last, weights are in memory once.
void lay_out_constants(Program& program);

/// All there are: the program's own, then those of the bodies of its steps, in order.
std::vector<const loops::Kernel*> all_kernels(const Program& program);

/// How many these are.
size_t kernel_count(const Program& program);

/// Steps that are launches of kernels, those of bodies included, each once.
int launch_count(const Program& program);

/// Bytes that a step reads and writes, once each, as expressions of the axes.
struct Traffic {
  Extent read = 0;
  Extent written = 0;
};
Traffic traffic(const Program& program, const Step& step);

}  // namespace tenon
