// Who is told of a run while it goes on.
#pragma once

#include <cstddef>

#include "tenon/array.h"

namespace tenon {

/// Called by the thread that called Executable::run(), which waits for each call to return: between two steps, while
/// nothing of the run is under way. What a call throws ends the run.
class RunObserver {
 public:
  RunObserver() = default;
  RunObserver(const RunObserver&) = delete;
  RunObserver& operator=(const RunObserver&) = delete;
  virtual ~RunObserver() = default;

  /// Output `output` is there, and no later step writes or reads it: `array` is what run() will give. Each output at
  /// most once; those that are views, constants or inputs, and those of programs that run on another device or whose
  /// sizes data decide, are not told before the end of the run.
  virtual void on_output(size_t output, const Array& array) = 0;
  virtual void between_steps() {}
};

}  // namespace tenon
