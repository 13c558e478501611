// Ending a run from another thread.
#pragma once

#include <atomic>

#include "tenon/error.h"

namespace tenon {

/// What a run throws that was cancelled.
class Cancelled : public Error {
 public:
  Cancelled() : Error("the run was cancelled") {}
};

/// One run, or several, look at it between steps and between the chunks of a step. Safe for any number of threads; it
/// outlives the runs that were given it.
class CancelToken {
 public:
  void cancel() { cancelled_.store(true, std::memory_order_relaxed); }
  /// Before it is given to another run.
  void reset() { cancelled_.store(false, std::memory_order_relaxed); }
  bool is_cancelled() const { return cancelled_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> cancelled_ = false;
};

}  // namespace tenon
