// What an executable says of itself and of its runs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/dtype.h"
#include "tenon/extent.h"
#include "tenon/shape.h"

namespace tenon {

/// An input or an output as it was declared.
struct Port {
  std::string name;
  Shape shape;

  friend bool operator==(const Port&, const Port&) = default;
};

enum class StepKind : uint8_t {
  kernel,   ///< one launch of compiled code
  copy,     ///< a kernel that computes nothing: it only moves elements
  library,  ///< a routine that is no loop over elements: a sort, a scan, a scatter
  control,  ///< runs bodies, which are programs of their own: a loop, a conditional
};

/// "kernel", "copy", ...
std::string_view name(StepKind kind);

/// What one step of a program does and why it ends where it does.
struct StepReport {
  StepKind kind = StepKind::kernel;
  std::string label;                    ///< the operators in it
  std::vector<std::string> nodes = {};  ///< names that the model has for these, each once; none where it names none
  std::string boundary;                 ///< why the next step is not part of it
  /// Steps that may run tile by tile with it, it included: the first of them, counted from 0, and how many; 1: none.
  int region_first = 0;
  int region_steps = 1;
  std::string region_end;  ///< why those end with it, where they do
  Extent bytes_read;
  Extent bytes_written;
  Extent flops = 0;                       ///< of products and convolutions; of a conditional, the larger branch's
  int parts = 1;                          ///< kernels that run side by side in this launch
  int phases = 1;                         ///< stretches that a barrier separates
  bool integer_products = false;          ///< it multiplies matrices of eight-bit integers
  std::vector<struct BodyReport> bodies;  ///< of a control step
};

/// What one trip of a loop, or one branch of a conditional, runs.
struct BodyReport {
  std::string name;
  std::vector<StepReport> steps;
};

/// A stretch of steps that runs at the sizes known before it.
struct SegmentReport {
  int first_step = 0;  ///< of Executable::steps(), counted from 0
  int steps = 0;
  /// Names that get their sizes when it has run, and the most that each can be.
  std::vector<std::pair<std::string, Extent>> binds = {};
};

/// 256 MiB.
inline constexpr int64_t kDefaultMemoryBudget = int64_t{256} << 20;

/// What an executable has done so far. A run that found its sizes prepared is a hit.
struct RunCounters {
  int64_t compiles = 1;  ///< Level 1: however many sizes it ran at
  int64_t runs = 0;
  int64_t specializations = 0;  ///< Level 2: bindings that were prepared
  int64_t hits = 0;
  int64_t evictions = 0;
  int64_t tiles = 0;           ///< of steps that ran tile by tile
  int64_t kept_bytes = 0;      ///< of intermediates that never were whole in memory, because of that
  int64_t reused_results = 0;  ///< runs that computed nothing (RunOptions::reuse_results)
  int64_t cached_bytes = 0;    ///< of the specializations and results that are kept
  int64_t idle_bytes = 0;      ///< of memory that is kept for the next run
  int64_t memory_bytes = 0;    ///< of idle memory and of memory in use: arenas and outputs that somebody holds
  int64_t peak_memory_bytes = 0;
  double compile_ms = 0;     ///< time in Level 1,
  double specialize_ms = 0;  ///< in Level 2,
  double waiting_ms =
      0;  ///< of callers at the ends of steps and regions, for threads that were not done; not inside of loops,
  double run_ms = 0;  ///< and in runs, Level 2 included; of all threads together
};

/// What one binding needs.
struct MemoryReport {
  int64_t arena_bytes = 0;         ///< all intermediates, which share memory when they do not live at once
  int64_t live_bytes = 0;          ///< the most that live at once: no arena can be smaller
  int64_t intermediate_bytes = 0;  ///< the sum of their sizes
  int64_t output_bytes = 0;
};

/// How steps run at one binding: tile by tile, so that what is between them stays in cache, or one after the other.
struct PipelineReport {
  int first_step = 0;  ///< of Executable::steps(), counted from 0
  int steps = 1;
  bool tiled = false;
  std::string reason;  ///< why so, in numbers
  int64_t tiles = 0;
  int64_t rows = 0;          ///< of the last kernel, in a tile
  int64_t strips = 0;        ///< stretches of tiles that threads take
  int64_t window_bytes = 0;  ///< of all that is between the steps, for all threads
  int64_t kept_bytes = 0;    ///< what it would take whole
};

/// What the code of an executable can do.
struct Capabilities {
  bool dynamic_axes = true;  ///< one compile serves every size
  bool named_axes = true;
  std::vector<Dtype> dtypes = {};
  int threads = 1;        ///< that a run may use
  std::string code = {};  ///< what runs the kernels, for people
};

}  // namespace tenon
