#include "schedule/draft/stream.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tenon::schedule {
namespace {

const loops::Compute* computed(const Draft& draft, int value, Prim prim) {
  const auto* compute = std::get_if<loops::Compute>(&draft.value(value).what);
  return compute && compute->prim == prim ? compute : nullptr;
}

bool is_finite_constant(const Draft& draft, int value) {
  const auto* constant = computed(draft, value, Prim::constant);
  return constant && std::isfinite(constant->literal);
}

/// A number that sizes alone decide: a constant, or how many elements there are.
bool is_number(const Draft& draft, int value) {
  if (const auto* cast = computed(draft, value, Prim::cast)) {
    return is_number(draft, cast->operands[0]);
  }
  const auto* position = std::get_if<loops::Position>(&draft.value(value).what);
  return position ? position->at.terms.empty() : is_finite_constant(draft, value);
}

bool is_made_of(const Draft& draft, int value, int anchor) {
  if (value == anchor) {
    return true;
  }
  const auto* compute = std::get_if<loops::Compute>(&draft.value(value).what);
  return compute && std::ranges::all_of(compute->operands, [&](int each) { return is_made_of(draft, each, anchor); });
}

/// The anchor itself, or a finite number where a condition on the anchor says so.
bool is_guarded(const Draft& draft, int value, int anchor) {
  if (value == anchor || is_finite_constant(draft, value)) {
    return true;
  }
  const auto* select = computed(draft, value, Prim::select);
  return select && is_made_of(draft, select->operands[0], anchor) && is_guarded(draft, select->operands[1], anchor) &&
         is_guarded(draft, select->operands[2], anchor);
}

/// The reduction that gives `op` of x in the same rows, or none.
const DraftReduction* find_anchor(Draft& draft, const DraftReduction& like, ReduceOp op, int x) {
  const auto found = std::ranges::find_if(draft.reductions, [&](const DraftReduction& each) {
    const loops::Accumulator& accumulator = draft.accumulator(each);
    return each.axes == like.axes && each.level == like.level && accumulator.op == op && accumulator.input == x;
  });
  return found == draft.reductions.end() ? nullptr : &*found;
}

int binary(Draft& draft, Prim prim, int a, int b) { return draft.values.compute(prim, draft.values.dtype(a), {a, b}); }

int mean(Draft& draft, int sum, int elements) {
  return binary(draft, Prim::div, sum, draft.values.cast(elements, draft.values.dtype(sum)));
}

}  // namespace

int power_centre(Draft& draft, int largest) {
  const Dtype dtype = draft.values.dtype(largest);
  const double most =
      dtype == Dtype::f64 ? std::numeric_limits<double>::max() : static_cast<double>(std::numeric_limits<float>::max());
  const int below = binary(draft, Prim::min, largest, draft.values.constant(dtype, most));
  return binary(draft, Prim::max, below, draft.values.constant(dtype, -most));
}

std::optional<StreamedForm> streamed_form(Draft& draft, size_t reduction) {
  const DraftReduction& r = draft.reductions[reduction];
  const loops::Accumulator& accumulator = draft.accumulator(r);
  if (accumulator.op != ReduceOp::sum || !is_float(accumulator.dtype)) {
    return std::nullopt;
  }
  const auto* square = computed(draft, accumulator.input, Prim::mul);
  const auto* exact = computed(draft, accumulator.input, Prim::exp);
  const auto* power = exact ? exact : computed(draft, accumulator.input, Prim::exp_normal);
  if ((!square && !power) || (square && square->operands[0] != square->operands[1])) {
    return std::nullopt;
  }
  const auto* difference = computed(draft, (square ? square : power)->operands[0], Prim::sub);
  if (!difference) {
    return std::nullopt;
  }
  const int x = difference->operands[0];
  const int from = difference->operands[1];
  const DraftReduction* anchor = find_anchor(draft, r, square ? ReduceOp::sum : ReduceOp::max, x);
  if (!anchor || draft.values.dtype(x) != accumulator.dtype) {
    return std::nullopt;
  }
  const auto is_mean = [&] {
    for (const Prim prim : {Prim::div, Prim::mul}) {
      const auto* compute = computed(draft, from, prim);
      if (compute && compute->operands[0] == anchor->result && is_number(draft, compute->operands[1])) {
        return true;
      }
    }
    return false;
  };
  if (square ? !is_mean() : from == x || !is_guarded(draft, from, anchor->result)) {
    return std::nullopt;
  }
  return StreamedForm{.kind = square ? StreamedForm::Kind::squares : StreamedForm::Kind::powers,
                      .anchor = static_cast<size_t>(anchor - draft.reductions.data()),
                      .x = x,
                      .from = from,
                      .power = power ? power->prim : Prim::exp};
}

TileTerms tile_terms(Draft& draft, const StreamedForm& form, int anchor, int elements) {
  if (form.kind == StreamedForm::Kind::powers) {
    const int power = binary(draft, Prim::sub, form.x, power_centre(draft, anchor));
    return {.value = draft.values.compute(form.power, draft.values.dtype(power), {power})};
  }
  const int difference = binary(draft, Prim::sub, form.x, mean(draft, anchor, elements));
  return {.value = binary(draft, Prim::mul, difference, difference), .difference = difference};
}

int combined_term(Draft& draft, const StreamedForm& form, const TileSums& sums) {
  const auto wide = [&](int value) { return draft.values.cast(value, Dtype::f64); };
  if (form.kind == StreamedForm::Kind::powers) {
    const int apart = binary(draft, Prim::sub, power_centre(draft, sums.anchor), sums.from);
    const int scale = draft.values.compute(form.power, draft.values.dtype(apart), {apart});
    return wide(binary(draft, Prim::mul, sums.value, scale));
  }
  // One after the other: compilers differ in which operand of a call they make first, and kernels are the same on all.
  const int from = wide(sums.from);
  const int apart = binary(draft, Prim::sub, wide(mean(draft, sums.anchor, sums.elements)), from);
  const int twice = binary(draft, Prim::add, wide(sums.difference), wide(sums.difference));
  const int beside = binary(draft, Prim::add, binary(draft, Prim::mul, wide(sums.elements), apart), twice);
  const int moved = binary(draft, Prim::mul, apart, beside);
  return binary(draft, Prim::add, wide(sums.value), moved);
}

}  // namespace tenon::schedule
