#include "schedule/draft/skipped_nan.h"

#include <algorithm>
#include <optional>

namespace tenon::schedule {
namespace {

/// Floats of which a NaN operand always makes NaN.
bool passes_nan_on(const loops::Value& value) {
  const auto* compute = std::get_if<loops::Compute>(&value.what);
  if (compute == nullptr || !is_float(value.dtype) || !is_float(compute->operand_dtype)) {
    return false;
  }
  switch (compute->prim) {
    case Prim::cast:
    case Prim::neg:
    case Prim::abs:
    case Prim::add:
    case Prim::sub:
    case Prim::mul:
    case Prim::div:
    case Prim::sqrt:
    case Prim::exp:
    case Prim::exp_normal:
    case Prim::expm1:
    case Prim::log:
    case Prim::log1p: return true;
    default: return false;
  }
}

/// What becomes of the values of a draft if one extreme passes over a NaN that it meets.
class WithoutNan {
 public:
  WithoutNan(const Draft& draft, const DraftReduction& extreme)
      : draft_(draft), extreme_(extreme), known_(draft.kernel.values.size()) {}

  /// The value is the same as if the NaN had been found.
  bool is_same(int value) {
    return value != extreme_.result &&
           once(value, &Known::is_same, [&] { return are_operands_same(value) || is_nan(value, Where::in_row); });
  }

 private:
  enum class Where : uint8_t {
    at_element,  // NaN at the elements at which the extreme's input is
    in_row,      // NaN at every element of a row in which the extreme's input is anywhere
  };
  struct Known {
    std::optional<bool> is_same;
    std::optional<bool> is_nan_at_element;
    std::optional<bool> is_nan_in_row;
  };

  template <class F>
  bool once(int value, std::optional<bool> Known::* fact, const F& find) {
    if (const auto known = known_[static_cast<size_t>(value)].*fact) {
      return *known;
    }
    const bool found = find();
    known_[static_cast<size_t>(value)].*fact = found;
    return found;
  }

  bool are_operands_same(int value) {
    if (const DraftReduction* reduction = draft_.reduction_of(value)) {
      const loops::Accumulator& accumulator = draft_.accumulator(*reduction);
      return is_same(accumulator.input) && (accumulator.position < 0 || is_same(accumulator.position));
    }
    return std::ranges::all_of(operands_of(draft_.value(value)), [&](int each) { return is_same(each); });
  }

  bool is_nan(int value, Where where) {
    const bool at_element = where == Where::at_element;
    if (at_element && value == draft_.accumulator(extreme_).input) {
      return true;
    }
    return once(value, at_element ? &Known::is_nan_at_element : &Known::is_nan_in_row,
                [&] { return is_sum_with_nan(value) || is_made_of_nan(value, where); });
  }

  bool is_sum_with_nan(int value) {
    const DraftReduction* reduction = draft_.reduction_of(value);
    return reduction != nullptr && draft_.accumulator(*reduction).op == ReduceOp::sum &&
           reduction->axes == extreme_.axes && reduction->level == extreme_.level &&
           is_nan(draft_.accumulator(*reduction).input, Where::at_element);
  }

  bool is_made_of_nan(int value, Where where) {
    return passes_nan_on(draft_.value(value)) &&
           std::ranges::any_of(operands_of(draft_.value(value)), [&](int each) { return is_nan(each, where); });
  }

  const Draft& draft_;
  const DraftReduction& extreme_;
  std::vector<Known> known_;  // by value
};

}  // namespace

void mark_skipped_nan(Draft& draft) {
  for (const DraftReduction& reduction : draft.reductions) {
    loops::Accumulator& accumulator = draft.accumulator(reduction);
    if ((accumulator.op != ReduceOp::max && accumulator.op != ReduceOp::min) || !is_float(accumulator.dtype)) {
      continue;
    }
    WithoutNan without(draft, reduction);
    accumulator.may_skip_nan =
        std::ranges::all_of(draft.stores, [&](const DraftStore& store) { return without.is_same(store.value); });
  }
}

}  // namespace tenon::schedule
