// Why did it run? What lazy tensors computed, when, for whom, and in how many kernels.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tenon/cancel.h"
#include "tenon/graph.h"
#include "tenon/tensor.h"

namespace tenon {

/// One program that was run for lazy tensors.
struct Realization {
  std::string reason;  ///< "item()", "pending limit", ...
  std::string place;   ///< file:line of the user's source; empty where the call cannot know
  int tensors = 0;     ///< what was asked for
  int writes = 0;      ///< pending writes that were computed along
  int operations = 0;  ///< recorded operations that it covers
  int kernels = 0;
  bool compiled = false;  ///< else a program of the same structure was found
  /// Where something was compiled although another program had run at the same place: what differs, a number, a size or
  /// the structure, in which operation.
  std::string why = {};
  int weights = 0;        ///< inputs that were constants of the program, because they have stayed the same
  bool laid_out = false;  ///< ... and were made so for this run: laid out and folded, in a program compiled for it
  double compile_ms = 0;
  double milliseconds = 0;  ///< all of it: finding or compiling the program, and running it

  friend bool operator==(const Realization&, const Realization&) = default;
};

/// The last ones, oldest first; 1,000 at most are kept. Counts are of all since the start or clear_realizations().
std::vector<Realization> realizations();
struct RealizationCounts {
  int64_t runs = 0;
  int64_t compiles = 0;
  int64_t kernels = 0;
  int64_t recompiles = 0;  ///< compiles that have a `why`
  int64_t laid_out = 0;    ///< programs compiled anew with weights that stayed as constants; not part of compiles
};
RealizationCounts realization_counts();
void clear_realizations();
/// The same as a table.
std::string realizations_text();

/// The program that realize(tensors) would run, as a graph: to look at, to count, to export. Leaves are its inputs, x0,
/// x1, ...; outputs are what is asked for, then pending writes, y0, y1, ... Nothing runs.
Graph recorded_graph(const std::vector<Tensor>& tensors);

/// What is written to standard error as lazy tensors run: 0 nothing, 1 a line for each realization, 2 a line for each
/// of its kernels too (operators, bytes, GB/s, GFLOP/s, time, why it ends there), 3 also what each program is when it
/// is compiled. TENON_LOG=1..3 in the environment does the same for programs that one cannot change.
void log_kernels(int level);
/// Whether Realization::why is written to standard error for each program that was compiled again. TENON_LOG=recompiles
/// in the environment does the same; TENON_LOG=1,recompiles asks for both.
void log_recompiles(bool on);

/// For profilers: `began` is called with a text where lazy tensors begin to compute something, on their thread, and
/// what it gives is let go of at the end. Each realization has a span, "item() at train.py:12", and in it one for the
/// program that runs, "12 operations in 3 kernels". One watcher at a time; none: nobody is told.
void watch_realizations(std::function<std::shared_ptr<void>(const std::string&)> began);

/// How lazy tensors are used on a thread, for front ends whose users do not write C++.
struct LazySettings {
  /// Where the user's program is: said of realizations, and what sizes are remembered by, instead of the C++ source.
  std::string file = {};
  uint32_t line = 0;
  int threads = 0;                      ///< of their programs; 0: as many as the machine has
  const CancelToken* cancel = nullptr;  ///< ends their programs
};
/// While it lives, these hold on its thread. Inner ones hide outer ones.
class WithLazySettings {
 public:
  explicit WithLazySettings(LazySettings settings);
  ~WithLazySettings();
  WithLazySettings(const WithLazySettings&) = delete;
  WithLazySettings& operator=(const WithLazySettings&) = delete;

 private:
  LazySettings previous_;
};

/// What lazy tensors keep for programs of structures that they have met, in programs; those used last stay.
void set_program_limit(int programs);
void clear_programs();
/// The most bytes that weights take as constants of programs, beside the tensors that they are of; those used last
/// stay. 0: weights stay inputs. A quarter of the machine's memory unless told.
///
/// A tensor that is an operand of products in run after run without being written is a weight: after the fourth run its
/// programs have it as a constant, in the layout that kernels read best and with what depends on it alone computed, as
/// those of an ONNX file have. Results may differ in roundings from then on. A write takes that back.
void set_weight_budget(int64_t bytes);

/// Recorded operations in a row, one upon the other, after which they are computed whether or not somebody looks.
inline constexpr int kMostPending = 4096;

}  // namespace tenon
