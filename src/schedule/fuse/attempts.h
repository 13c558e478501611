// What fusion tried, for those who ask why two operations are two kernels.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/node.h"
#include "tenon/graph.h"

namespace tenon::schedule {

// Names of the rules.
inline constexpr std::string_view kOperandRule = "operand";          // what makes an array joins what reads it
inline constexpr std::string_view kSiblingRule = "sibling";          // kernels that read the same array
inline constexpr std::string_view kRecomputeRule = "recompute";      // what is cheap is computed where it is read
inline constexpr std::string_view kTileRule = "reduce in tiles";     // of a product, before its tiles are stored
inline constexpr std::string_view kConcatRule = "concat";            // parts of a concat are stored in their place
inline constexpr std::string_view kSideBySideRule = "side by side";  // equal kernels that one launch runs

/// One try to make one kernel of two groups of operations.
struct FusionAttempt {
  std::string_view rule;
  std::vector<const Node*> first;  // of an operand: those that make it
  std::vector<const Node*> second;
  bool joined = false;
  bool again = false;        // when all was decided: what stands as the reason of a boundary, tried once more
  std::string finding = {};  // why they were not
};

/// While one lives, what fusion tries on the same thread is recorded in it, whatever is scheduled. Else nothing is: the
/// findings cost time that is spent for nobody.
class AttemptLog {
 public:
  AttemptLog() : outer_(current()) { current() = this; }
  ~AttemptLog() { current() = outer_; }
  AttemptLog(const AttemptLog&) = delete;
  AttemptLog& operator=(const AttemptLog&) = delete;

  const std::vector<FusionAttempt>& attempts() const { return attempts_; }

  /// Of a graph that is scheduled: attempts point into it.
  static void keep(const Graph& graph) {
    if (AttemptLog* const log = current(); log != nullptr) {
      log->graphs_.push_back(graph);
    }
  }

  /// `make()` gives the attempt; it is called where somebody asks.
  template <class Make>
  static void record(const Make& make) {
    if (AttemptLog* const log = current(); log != nullptr) {
      log->attempts_.push_back(make());
    }
  }

 private:
  static AttemptLog*& current() {
    thread_local AttemptLog* log = nullptr;
    return log;
  }

  AttemptLog* outer_;
  std::vector<FusionAttempt> attempts_;
  std::vector<Graph> graphs_;
};

}  // namespace tenon::schedule
