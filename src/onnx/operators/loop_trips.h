// How many trips a loop makes whose condition compares counters with sizes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "onnx/import/size_condition.h"

namespace tenon::importer {

/// Names for the iteration and for carried integers of one element, so that a condition becomes a comparison of them.
/// One instance serves one run of a body.
class LoopNames {
 public:
  LoopNames(KnownValues& known, const Value& iteration, const std::vector<Value>& carried);

  /// The comparison of sizes and the iteration that `go_on` is, when carried values that it needs begin as known sizes
  /// (`initial`) and change by a number each trip (`next`); else nothing.
  std::optional<SizeCondition> condition(const Value& go_on, const std::vector<Value>& initial,
                                         const std::vector<Value>& next) const;

  /// The trips until the comparison, made behind each trip, says no: one at least. Nothing where it need not.
  std::optional<Extent> trips(const SizeCondition& condition) const;
  /// The same where `first` is asked before the first trip, which may then not be made.
  std::optional<Extent> trips(const SizeCondition& condition, const SizeCondition& first) const;

 private:
  KnownValues& known_;
  std::string iteration_;
  std::vector<std::string> carried_;  // empty for those that have no name
};

/// 1 where the comparison holds, 0 where not; nothing where no extent says so.
std::optional<Extent> indicator(const SizeCondition& condition);

}  // namespace tenon::importer
