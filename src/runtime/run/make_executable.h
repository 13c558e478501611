// From programs and the code of their kernels to what users run.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "devices/device.h"
#include "runtime/run/segments.h"
#include "tenon/executable.h"

namespace tenon::runtime {

struct RuntimeOptions {
  int64_t memory_budget = kDefaultMemoryBudget;
  std::shared_ptr<devices::Device> device = {};  // which loaded the code; devices::host_device() where not given
  double compile_ms = 0;                         // what Level 1 took, for the counters
  std::string code = {};                         // what runs the kernels, for Capabilities
  int64_t code_bytes = 0;                        // of the machine code that was made for the kernels
  std::vector<std::string> names = {};           // that bindings may have beside those that the program needs
  int first_step = 0;                            // of the program among the steps of all, for traces
  std::vector<int> input_steps = {};             // that made its inputs among those: step_reads()
  /// For tests: called before each step, on the caller's thread, and before each chunk, on any thread; may throw.
  std::function<void(size_t step)> before_step = {};
  /// For tests: windows of regions hold at most so many elements, which may be too few; 0: no limit.
  int64_t most_window_elements = 0;
};

/// Each segment runs at the names bound so far, with a cache of its own; values between them are freed after their last
/// use. `constraints` of the first segment are those that hold before anything runs.
Executable make_executable(Segments segments, const RuntimeOptions& options = {});

}  // namespace tenon::runtime
