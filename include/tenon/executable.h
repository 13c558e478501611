// A compiled program: runs at any sizes, on any number of threads at once.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tenon/array.h"
#include "tenon/bindings.h"
#include "tenon/cancel.h"
#include "tenon/extent.h"
#include "tenon/run_observer.h"
#include "tenon/run_report.h"
#include "tenon/shape.h"
#include "tenon/strided_array.h"
#include "tenon/tensor_view.h"
#include "tenon/trace.h"

namespace tenon {

struct RunOptions {
  int threads = 0;         ///< at most this many; 0: as many as the machine has. Never changes results
  Bindings bindings = {};  ///< sizes of names that no input shape determines; a name that the graph lacks is an Error
  const CancelToken* cancel = nullptr;  ///< ends the run with Cancelled when another thread says so
  /// `cancel` is looked at before this step of steps() begins, and not later: from there on the run goes to its end.
  /// -1: always. For callers whose inputs are updated in place and must not be left half updated.
  int cancel_before_step = -1;
  Trace* trace = nullptr;  ///< gets what the run did
  /// Give what an earlier run gave, if it had this option, the same sizes and inputs of the same contents (compared by
  /// a hash of 128 bits). Pays where inputs come again and take less long to read than to run. Not of run_into().
  bool reuse_results = false;
  /// Arithmetic reads denormals (numbers below 2^-126 in f32, 2^-1022 in f64) as 0 and gives 0 for them. Processors
  /// take many times as long for them as for others. On all threads of the run and for it alone; when not set, a run
  /// leaves the mode of the processor as its caller has it. Copies keep denormals.
  bool flush_denormals = false;
  /// Results stay in the memory of the device that ran (Array::place()), where a later run on it takes them without a
  /// copy; Executable::to_cpu() brings them. Of run() alone. On the CPU it changes nothing.
  bool results_on_device = false;
  RunObserver* observer = nullptr;  ///< told of outputs of run() as soon as they are there
};

namespace runtime {
class Runnable;
}

/// A handle, cheap to copy; copies share the program, what is prepared for each binding, and counters. Everything here
/// may be called from many threads at once. The first run at new sizes prepares them (a specialization), which is
/// kept for later runs. A program without names needs none of that. After an Error the executable is as good as before.
/// A handle that was moved from answers every call with an Error.
///
/// An axis whose size only data decide (tenon/selection.h) gets it while a run goes on: the steps behind it are a
/// segment of their own, which is prepared when the size is known. It cannot be given a size in RunOptions::bindings;
/// what looks ahead of runs (output_shapes, specialize, memory) takes one, to answer for that size.
class Executable {
 public:
  /// Results in the order of outputs(). Names are bound from the inputs' sizes and every constraint is checked first.
  /// Errors: number, dtype, rank or sizes of inputs; an unbound name; a constraint; a position out of range; sizes
  /// beyond the machine's memory.
  std::vector<Array> run(const std::vector<Array>& inputs, const RunOptions& options = {}) const;
  /// The same, but an input that an output updates is written in place when nobody else holds its memory.
  std::vector<Array> run(std::vector<Array>&& inputs, const RunOptions& options = {}) const;

  /// The array in the CPU's memory: itself, or a copy of what is in the memory of the device that runs this program.
  /// Error: another device's.
  Array to_cpu(const Array& array) const;
  /// The array in the memory of the device that runs this program: itself, or a copy of what is in the CPU's memory,
  /// which later runs read where it is. Of a program that runs on the CPU, the array itself. Error: no memory; another
  /// device's.
  Array to_device(const Array& array) const;

  /// As run(), but an output that is a view of an input or of another output shares its memory.
  std::vector<StridedArray> run_views(const std::vector<Array>& inputs, const RunOptions& options = {}) const;

  /// As run(), but of memory that the caller lends. Kernels take rows without gaps at addresses that their elements
  /// divide; an input with other strides or at another address is copied first.
  std::vector<Array> run_borrowed(std::span<const TensorView> inputs, const RunOptions& options = {}) const;

  /// As run_borrowed(), with results in memory of the caller's, whose dtypes and dims are those of output_shapes().
  /// Kernels write there directly where its strides are row-major, its address is as above and no input lies there;
  /// else results are copied at the end. An output that updates an input may lie where that input lies: it is then
  /// updated in place. Apart from that no two outputs may overlap, and no two elements of one: each stride steps over
  /// all that the smaller ones reach. After an Error the contents are undefined.
  /// Error for an output with an axis that data decide: nobody knows how much memory it takes. Where other axes of the
  /// program are such, results are copied at the end.
  void run_into(std::span<const TensorView> inputs, std::span<const TensorView> outputs,
                const RunOptions& options = {}) const;

  /// The concrete shapes of what a run at these sizes gives.
  std::vector<Shape> output_shapes(const Bindings& bindings) const;

  /// Prepare these sizes and memory for them, so that the first run at them is a hit and takes what later ones take.
  /// Every name that a size needs must be given or follow from the constraints; where one that data decide is not
  /// given, the segments before it are prepared.
  void specialize(const Bindings& bindings) const;
  /// The same for all of a list; an Error of one leaves nothing prepared of the list that was not prepared before.
  void pre_specialize(std::span<const Bindings> list) const;
  /// What a run at these sizes takes.
  MemoryReport memory(const Bindings& bindings) const;
  /// Which steps run tile by tile at these sizes, and why others that could do not.
  std::vector<PipelineReport> pipelines(const Bindings& bindings) const;

  /// The most bytes that this executable keeps for later: specializations, results and memory between runs. What was
  /// used last is kept longest. The default is kDefaultMemoryBudget.
  void set_memory_budget(int64_t bytes) const;

  const std::string& name() const;
  const std::vector<Port>& inputs() const;
  const std::vector<Port>& outputs() const;
  const std::vector<StepReport>& steps() const;
  const std::vector<SegmentReport>& segments() const;  ///< one, unless data decide sizes
  int kernel_count() const;                            ///< launches of compiled code, copies among them
  int copy_count() const;
  RunCounters counters() const;
  Capabilities capabilities() const;

  /// The steps as text: operators, bytes as expressions of the axes, phases, and why each ends where it does.
  std::string explain() const;

 private:
  friend class runtime::Runnable;
  explicit Executable(std::shared_ptr<runtime::Runnable> program);
  runtime::Runnable& program() const;

  std::shared_ptr<runtime::Runnable> program_;
};

}  // namespace tenon
