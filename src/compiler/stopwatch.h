// Time for reports of compiles.
#pragma once

#include "base/clock.h"

namespace tenon::compiler {

/// Runs from when it is made.
class Stopwatch {
 public:
  double milliseconds() const { return static_cast<double>(nanoseconds_now() - start_) / 1e6; }

 private:
  const int64_t start_ = nanoseconds_now();
};

}  // namespace tenon::compiler
