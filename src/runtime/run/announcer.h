// Tells an observer of outputs as soon as they are there.
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/run/executor.h"
#include "tenon/run_observer.h"

namespace tenon::runtime {

/// Of one run on the host, which it does not outlive.
class Announcer {
 public:
  Announcer(const Context& context, const Specialization& s, const RunState& state, RunObserver& observer);

  /// Stage `stage` of the specialization has ended.
  void after(size_t stage);

 private:
  const Context& c_;
  const Specialization& s_;
  const RunState& state_;
  RunObserver& observer_;
  std::vector<std::vector<size_t>> outputs_;  // that are there after each stage
};

}  // namespace tenon::runtime
