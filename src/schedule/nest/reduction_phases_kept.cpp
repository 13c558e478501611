// What one phase computes to reduce it and a later one needs again, kept in memory where that is faster.
#include <algorithm>
#include <optional>
#include <unordered_set>

#include "schedule/nest/reduction_phases.h"
#include "schedule/options/core_rates.h"

namespace tenon::schedule {
namespace {

constexpr double kWorthIt = 1.5;  // memory is shared, arithmetic is not

/// What the value costs for one element, in bytes of operands of vector instructions, down to what is loaded. Nothing
/// where a reduction is among what it is made of in these loops: that is more than one element.
std::optional<double> vector_bytes_of(const Draft& draft, int value, AxisSet axes) {
  double bytes = 0;
  std::vector<int> pending{value};
  std::unordered_set<int> seen{value};
  while (!pending.empty()) {
    const int each = pending.back();
    pending.pop_back();
    const loops::Value& what = draft.value(each);
    if ((draft.values.axes(each) & axes) == 0) {
      continue;  // once in all of the loops
    }
    if (std::holds_alternative<loops::Result>(what.what)) {
      return std::nullopt;
    }
    if (const auto* compute = std::get_if<loops::Compute>(&what.what)) {
      const size_t widest = std::max(byte_size(what.dtype), byte_size(compute->operand_dtype));
      bytes += static_cast<double>(cost(compute->prim, compute->operand_dtype)) * static_cast<double>(widest);
    }
    for (const int operand : operands_of(what)) {
      if (seen.insert(operand).second) {
        pending.push_back(operand);
      }
    }
  }
  return bytes;
}

/// Whether to compute it once more takes longer than to store and to load it.
bool is_worth_keeping(const Draft& draft, int value, AxisSet axes, int64_t vector_bytes) {
  const std::optional<double> computing = vector_bytes_of(draft, value, axes);
  const double moving = 2 * static_cast<double>(byte_size(draft.values.dtype(value))) / kBytesPerCycle;
  return computing && *computing / static_cast<double>(vector_bytes) / kVectorsPerCycle > kWorthIt * moving;
}

}  // namespace

/// Whether stores to do, or reductions after these, are made of the value.
bool ReductionPhases::is_needed_behind(int value, const std::vector<size_t>& reductions) const {
  std::vector<int> behind;
  for (const size_t s : pending_) {
    behind.push_back(draft_.stores[s].value);
  }
  // Not by way of the reductions at hand: their results come from memory.
  std::unordered_set<int> seen;
  for (const size_t r : reductions) {
    seen.insert(draft_.reductions[r].result);
  }
  while (!behind.empty()) {
    const int each = behind.back();
    behind.pop_back();
    if (each == value) {
      return true;
    }
    if (!seen.insert(each).second) {
      continue;
    }
    const std::vector<int> operands = operands_of(draft_.value(each));
    behind.insert(behind.end(), operands.begin(), operands.end());
    if (const DraftReduction* reduction = draft_.reduction_of(each)) {
      behind.push_back(draft_.accumulator(*reduction).input);
    }
  }
  return false;
}

/// The stores of what these reductions take in and later phases need, which read it from there.
std::vector<size_t> ReductionPhases::keep_inputs(const std::vector<size_t>& reductions, AxisSet axes) {
  std::vector<size_t> stores;
  std::unordered_map<int, int> by;
  for (const size_t r : reductions) {
    const int value = draft_.accumulator(draft_.reductions[r]).input;
    if (!streamed_.empty() || by.contains(value) || draft_.values.axes(value) != (axes | level_) ||
        !is_worth_keeping(draft_, value, axes, vector_bytes_) || !is_needed_behind(value, reductions)) {
      continue;
    }
    const DensePlace place = tree_.dense(axes | level_);
    const int buffer = new_buffer(draft_.values.dtype(value), place.elements);
    stores.push_back(add_store(buffer, place.at, value, axes | level_));
    by[value] = draft_.values.load({.buffer = buffer, .at = place.at, .inside = {}, .lookups = {}});
  }
  if (stores.empty()) {
    return stores;
  }
  for (const size_t s : pending_) {
    draft_.stores[s].value = replaced(draft_, draft_.stores[s].value, by);
  }
  for (size_t i = 0; i < draft_.reductions.size(); ++i) {
    if (!done_[i] && std::ranges::find(reductions, i) == reductions.end()) {
      loops::Accumulator& accumulator = draft_.accumulator(draft_.reductions[i]);
      accumulator.input = replaced(draft_, accumulator.input, by);
    }
  }
  return stores;
}

}  // namespace tenon::schedule
