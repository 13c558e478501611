// What may look at a run while it runs: whoever may cancel it, a trace, a test. Most runs have none of them.
#pragma once

#include <functional>
#include <limits>
#include <mutex>
#include <vector>

#include "tenon/cancel.h"
#include "tenon/executable.h"
#include "tenon/trace.h"

namespace tenon::runtime {

struct Context;
struct Specialization;

class Watch {
 public:
  /// All outlive it; any may be null.
  Watch(const RunOptions& options, const std::function<void(size_t)>* before_step)
      : cancel_(options.cancel),
        cancel_before_step_(options.cancel_before_step < 0 ? std::numeric_limits<int>::max()
                                                           : options.cancel_before_step),
        trace_(options.trace),
        before_step_(before_step) {}

  /// Before a step, or a chunk of one: throws when the run shall end.
  void before(int step) const {
    if (cancel_ != nullptr && step < cancel_before_step_ && cancel_->is_cancelled()) {
      throw Cancelled();
    }
    if (before_step_ != nullptr && *before_step_) {
      (*before_step_)(static_cast<size_t>(step));
    }
  }

  /// A step of a body.
  struct Inside {
    const Context* context = nullptr;  // null: the step is of the outermost program
    const Specialization* s = nullptr;
    int step = 0;
  };

  /// A stretch of a step.
  struct Stretch {
    int step = 0;  // of the outermost program
    Inside inside = {};
    int phase = 0;
    int64_t tile = -1;
    double work = 1;  // its share is that of the sum of its step's
    int thread = 0;
    int64_t begin_ns = 0;
    int64_t end_ns = 0;
  };

  static constexpr size_t kMostInside = 100000;
  bool traces() const { return trace_ != nullptr; }
  int64_t now() const { return trace_ == nullptr ? 0 : trace_->now_ns(); }
  /// Called by the thread that did it. Of what happens inside of bodies the first kMostInside are kept.
  void add(Stretch stretch);
  const std::vector<Stretch>& stretches() const { return stretches_; }
  Trace* trace() const { return trace_; }

 private:
  const CancelToken* cancel_;
  int cancel_before_step_;
  Trace* trace_;
  const std::function<void(size_t)>* before_step_;
  std::mutex mutex_;
  std::vector<Stretch> stretches_;
};

}  // namespace tenon::runtime
