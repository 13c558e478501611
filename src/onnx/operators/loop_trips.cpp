#include "onnx/operators/loop_trips.h"

#include <algorithm>
#include <map>

#include "base/fail.h"

namespace tenon::importer {
namespace {

/// Carried values may be negative, which names may not: they are this much less than their name.
constexpr int64_t kShift = int64_t{1} << 40;

/// What must stay above 0 for the comparison to hold.
std::optional<Extent> margin(const SizeCondition& condition) {
  if (condition.kind == SizeCondition::Kind::less) {
    return condition.negated ? condition.lhs - condition.rhs + 1 : condition.rhs - condition.lhs;
  }
  return {};
}

/// `at_start - step * iteration`, with a positive step.
struct Countdown {
  Extent at_start;
  int64_t step;
};

std::optional<Countdown> countdown(const Extent& margin, const std::string& iteration) {
  const Extent at_start = margin.substitute({{iteration, 0}});
  const std::optional<int64_t> step = (at_start - margin.substitute({{iteration, 1}})).constant();
  const bool is_linear = step && *step > 0 && margin == at_start - Extent::name(iteration) * *step;
  return is_linear ? std::optional(Countdown{at_start, *step}) : std::nullopt;
}

}  // namespace

LoopNames::LoopNames(KnownValues& known, const Value& iteration, const std::vector<Value>& carried)
    : known_(known), iteration_("iteration of a loop") {
  known_.tell(iteration, {{Extent::name(iteration_)}});
  for (size_t i = 0; i < carried.size(); ++i) {
    const Shape& shape = carried[i].shape();
    const bool is_counter = is_integer(shape.dtype()) && !shape.is_dynamic() && shape.element_count() == Extent(1);
    carried_.push_back(is_counter ? fmt::format("carried value {} of a loop", i) : std::string());
    if (is_counter) {
      known_.tell(carried[i], {{Extent::name(carried_.back()) - kShift}});
    }
  }
}

std::optional<SizeCondition> LoopNames::condition(const Value& go_on, const std::vector<Value>& initial,
                                                  const std::vector<Value>& next) const {
  std::optional<SizeCondition> found = size_condition(known_, go_on);
  if (!found) {
    return {};
  }
  std::map<std::string, Extent, std::less<>> by;
  for (size_t i = 0; i < carried_.size(); ++i) {
    if (carried_[i].empty()) {
      continue;
    }
    const Extent name = Extent::name(carried_[i]);
    const std::optional<std::vector<Extent>> begin = known_.extents(initial[i]);
    const std::optional<std::vector<Extent>> behind = known_.extents(next[i]);
    const std::optional<int64_t> step = behind ? (behind->front() - (name - kShift)).constant() : std::nullopt;
    if (begin && step) {
      by[carried_[i]] = begin->front() + kShift + Extent::name(iteration_) * *step;
    }
  }
  found->lhs = found->lhs.substitute(by);
  found->rhs = found->rhs.substitute(by);
  for (const Extent* side : {&found->lhs, &found->rhs}) {
    for (const std::string& name : side->names()) {
      if (std::ranges::find(carried_, name) != carried_.end()) {
        return {};
      }
    }
  }
  return found;
}

std::optional<Extent> LoopNames::trips(const SizeCondition& condition) const {
  const std::optional<Extent> left = margin(condition);
  const std::optional<Countdown> down = left ? countdown(*left, iteration_) : std::nullopt;
  return down ? std::optional(simplify(max(ceildiv(down->at_start, down->step), 0) + 1)) : std::nullopt;
}

std::optional<Extent> LoopNames::trips(const SizeCondition& condition, const SizeCondition& first) const {
  const std::optional<Extent> left = margin(condition);
  const std::optional<Countdown> down = left ? countdown(*left, iteration_) : std::nullopt;
  const std::optional<Extent> before = margin(first);
  if (!down || !before) {
    return {};
  }
  if (*before == down->at_start + down->step) {  // the same question, one trip earlier
    return simplify(max(ceildiv(*before, down->step), 0));
  }
  return *indicator(first) * simplify(max(ceildiv(down->at_start, down->step), 0) + 1);
}

std::optional<Extent> indicator(const SizeCondition& condition) {
  const std::optional<Extent> left = margin(condition);
  return left ? std::optional(simplify(min(max(*left, 0), 1))) : std::nullopt;
}

}  // namespace tenon::importer
