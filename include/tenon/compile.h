// From a graph to something that runs fast at every shape.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tenon/dtype.h"
#include "tenon/executable.h"
#include "tenon/graph.h"
#include "tenon/machine.h"
#include "tenon/precision.h"

namespace tenon {

/// One pass of the pipeline, as it ran.
struct PassRun {
  std::string name;
  bool changed = false;
  double milliseconds = 0;
  Graph after;
};

/// One kernel's way to callable code.
struct KernelReport {
  std::string name;  ///< its operations
  bool has_products = false;
  double milliseconds = 0;  ///< of one processor; 0 where an equal kernel was there
};

/// What a compile spent its time on.
struct CompileReport {
  std::vector<PassRun> passes;
  double schedule_ms = 0;
  double codegen_ms = 0;
  int kernels = 0;                    ///< different kernels of the program
  std::vector<KernelReport> code_of;  ///< ... and each of them
  std::string code;                   ///< "x86-64-v4, 512-bit vectors, fma", or "loop interpreter"
};

struct CompileOptions {
  bool fuse = true;        ///< off: every operation is a kernel of its own
  bool native = true;      ///< off: kernels run in the interpreter of the loop IR, as without LLVM
  bool disk_cache = true;  ///< keep machine code under the user's cache directory
  /// Rows larger than this many bytes are streamed instead of kept in cache. A kernel that reads each row only once
  /// streams from 1/32 of it.
  int64_t most_row_bytes = kMostRowBytes;
  /// Kernels of less work than this, in about one cheap operation on one element, run on one thread: more would cost
  /// them more than they give. 0: all that can be shared out is.
  int64_t least_shared_work = kLeastSharedWork;
  /// What kernels are made for. Tiles of products fit its second cache; those that are streamed, as attention's are,
  /// sum in the order of their blocks: last bits may differ with it. Error: machine code for instructions that this
  /// machine does not have; not `native`, its kernels run anywhere.
  Machine machine = this_machine();
  /// Convolutions of 3x3 with constant weights, stride 1 and enough channels multiply a quarter or 4/9 as often, after
  /// Winograd. Roundings are about twice those of the sum, of pixels of like size. They are relative to the largest of
  /// the 6x6 pixels that a square of 4x4 results reads: beside it, much smaller results lose their digits. Infinities
  /// and NaN become what they become in the sum, in more time; next to pixels of more than 1/32 of the largest number,
  /// results of the same square may be NaN where the convolution itself has none.
  bool winograd = true;
  /// Chains of kernels run tile by tile, so that what is between them stays in cache, where that pays at the sizes of a
  /// run. Results are the same bits.
  bool pipelines = true;
  /// Rows of a tile of the last kernel of a chain; 0: a cost model decides that, and whether to run it so at all.
  int64_t pipeline_rows = 0;
  /// The constant matrices of f32 products are kept in fewer bits, rounded, and widened as they are read: half, a
  /// quarter or a seventh of the memory, and of the time of products of few rows. Error: a dtype that is no such
  /// format.
  std::optional<WeightFormat> weights = {};
  /// What f32 operands of products and convolutions are rounded to. Sums stay f32; results are as exact as that lets
  /// them be.
  Precision precision = Precision::f32;
  std::vector<std::string> skip = {};  ///< passes to leave out, by name; an unknown name is an Error
  /// Axis names whose sizes are the values of an input, by the input's name: one name for each of its elements, which
  /// are integers. `{{"shape", {"rows", "cols"}}}` binds both names from the input `shape: i64[2]` of each run.
  std::map<std::string, std::vector<std::string>> sizes_from = {};
  /// Called after each pass that ran.
  std::function<void(const PassRun&)> on_pass = {};
  CompileReport* report = nullptr;  ///< filled in where given
};

/// Compile once; the result runs at every binding of the graph's axis names.
Executable compile(const Graph& graph, const CompileOptions& options = {});
/// The same of a graph that nobody needs any more: its weights are not kept beside those that are laid out for kernels.
/// Neither are the graphs of PassRun::after.
Executable compile(Graph&& graph, const CompileOptions& options = {});

/// The names of the passes, in the order in which they run.
std::vector<std::string> compile_passes();

}  // namespace tenon
