// A compiled program: runs at any sizes, on any number of threads at once.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tenon/array.h"
#include "tenon/bindings.h"
#include "tenon/extent.h"
#include "tenon/shape.h"
#include "tenon/strided_array.h"

namespace tenon {

struct RunOptions {
  int threads = 0;         ///< at most this many; 0: as many as the machine has. Never changes results
  Bindings bindings = {};  ///< sizes of names that no input shape determines
};

/// An input or an output as it was declared.
struct Port {
  std::string name;
  Shape shape;

  friend bool operator==(const Port&, const Port&) = default;
};

enum class StepKind : uint8_t {
  kernel,  ///< one launch of compiled code
  copy,    ///< a kernel that computes nothing: it only moves elements
  host,    ///< a function that takes and gives whole arrays
};

/// What one step of a program does and why it ends where it does.
struct StepReport {
  StepKind kind = StepKind::kernel;
  std::string label;     ///< the operators in it
  std::string boundary;  ///< why the next step is not part of it
  Extent bytes_read;
  Extent bytes_written;
  int parts = 1;   ///< kernels that run side by side in this launch
  int phases = 1;  ///< stretches that a barrier separates
};

/// What an executable has done so far. A run that found its sizes prepared is a hit.
struct RunCounters {
  int64_t runs = 0;
  int64_t specializations = 0;
  int64_t hits = 0;
  int64_t evictions = 0;
  int64_t cached_bytes = 0;  ///< of the specializations that are kept
  int64_t idle_bytes = 0;    ///< of memory that is kept for the next run
};

/// What one binding needs.
struct MemoryReport {
  int64_t arena_bytes = 0;         ///< all intermediates, which share memory when they do not live at once
  int64_t intermediate_bytes = 0;  ///< the sum of their sizes
  int64_t output_bytes = 0;
};

namespace runtime {
class Engine;
}

/// A handle, cheap to copy; copies share the program, what is prepared for each binding, and counters. Everything here
/// may be called from many threads at once. The first run at new sizes prepares them (a specialization), which is
/// kept for later runs within a budget of bytes.
class Executable {
 public:
  explicit Executable(std::shared_ptr<runtime::Engine> engine);

  /// Results in the order of outputs(). Names are bound from the inputs' sizes and every constraint is checked first.
  /// Errors: number, dtype, rank or sizes of inputs; an unbound name; a constraint; a position out of range; sizes
  /// beyond the machine's memory. After an error the executable is as good as before.
  std::vector<Array> run(const std::vector<Array>& inputs, const RunOptions& options = {}) const;
  /// The same, but an input that an output updates is written in place when nobody else holds its memory.
  std::vector<Array> run(std::vector<Array>&& inputs, const RunOptions& options = {}) const;

  /// As run(), but an output that is a view of an input or of another output shares its memory.
  std::vector<StridedArray> run_views(const std::vector<Array>& inputs, const RunOptions& options = {}) const;

  /// Prepare these sizes, so that the first run at them is a hit. Every name that a size needs must be given or follow
  /// from the constraints.
  void specialize(const Bindings& bindings) const;
  /// What a run at these sizes takes.
  MemoryReport memory(const Bindings& bindings) const;

  const std::string& name() const;
  const std::vector<Port>& inputs() const;
  const std::vector<Port>& outputs() const;
  const std::vector<StepReport>& steps() const;
  int kernel_count() const;  ///< launches of compiled code, copies among them
  int copy_count() const;
  RunCounters counters() const;

  /// The steps as text: operators, bytes as expressions of the axes, phases, and why each ends where it does.
  std::string explain() const;

 private:
  std::shared_ptr<runtime::Engine> engine_;
};

}  // namespace tenon
