// Leaves that stay the same are weights: programs in which they are constants, laid out and folded as those of a model.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "tensor/realize/program.h"

namespace tenon::tensors {

struct LaidOut;

/// Versions of one program whose weights are constants. A leaf that has been an operand of some runs, and that products
/// read, is taken for a weight at the next run, which compiles the version; a run whose leaves are the same as those of
/// a version is run by that. A write makes a new leaf, so the general program serves until that has stayed as long.
/// Versions that did not serve long make the next one wait twice as long.
///
/// A version lives as long as its largest weight, at most: when tensors go, so does what was laid out of them. All of
/// them together hold no more bytes than set_weight_budget() says; those used last stay. Thread-safe.
class WeightPrograms {
 public:
  /// Of the program of `graph`, whose inputs are the leaves; `aliases` as those of Program.
  WeightPrograms(const Graph& graph, const std::vector<int>& aliases);

  struct Found {
    std::shared_ptr<const Program> program;  // none: the general one serves
    int weights = 0;
    bool made = false;
  };
  /// The version for the leaves of a run that is about to begin. `general` owns this.
  Found find(const Program& general, const Pending& pending);

 private:
  std::shared_ptr<LaidOut> serving(const Pending& pending);
  std::vector<size_t> wanted(const Graph& graph, const Pending& pending);
  Found make(const Program& general, const Pending& pending, const std::vector<size_t>& leaves);
  Found give_up();

  struct Made {
    std::weak_ptr<LaidOut> version;
    std::shared_ptr<std::atomic<int64_t>> uses;  // of the version, also when it has gone
  };
  std::mutex mutex_;
  std::vector<bool> may_be_;  // of each leaf: whether it may be a constant
  std::atomic<bool> useful_;  // a version could be faster, and could be made
  std::vector<Made> made_;
  std::vector<bool> rejected_;  // which leaves had stayed when that was not enough
  uint32_t wait_;               // runs that a leaf has to have been in
  bool making_ = false;
};

}  // namespace tenon::tensors
