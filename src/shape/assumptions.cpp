#include "tenon/assumptions.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/checked.h"
#include "base/fail.h"
#include "base/refused.h"
#include "shape/congruence.h"
#include "shape/extent_names.h"
#include "shape/extent_range.h"
#include "shape/interval.h"

namespace tenon {

Assumptions::Fact Assumptions::known(std::string_view name) const {
  const auto found = facts_.find(name);
  return found != facts_.end() ? found->second : Fact{};
}

void Assumptions::tell(std::string name, Fact fact) {
  if (name.empty()) {
    fail("the name of an axis is empty");
  }
  const Interval multiples = fact.range.empty() ? fact.range : only_residue(fact.range, 0, fact.multiple);
  if (multiples.empty()) {
    const std::string factor = fact.multiple > 1 ? fmt::format(" and a multiple of {}", fact.multiple) : "";
    const std::string low = fact.range.low ? fmt::format("at least {}", *fact.range.low) : "";
    const std::string high = fact.range.high ? fmt::format("at most {}", *fact.range.high) : "";
    refuse("axis `{}` cannot be {}{}{}{}", name, low, low.empty() || high.empty() ? "" : " and ", high, factor);
  }
  fact.range = multiples;
  facts_.insert_or_assign(std::move(name), fact);
}

void Assumptions::at_least(std::string name, int64_t value) {
  Fact fact = known(name);
  if (!fact.range_told && value < 0) {
    fact.range.low = value;
  } else if (!fact.range.low || *fact.range.low < value) {
    fact.range.low = value;
  }
  fact.range_told = true;
  tell(std::move(name), fact);
}

void Assumptions::unbounded_below(std::string name) {
  Fact fact = known(name);
  if (!fact.range_told) {
    fact.range.low.reset();
    fact.range_told = true;
  }
  tell(std::move(name), fact);
}

void Assumptions::at_most(std::string name, int64_t value) {
  Fact fact = known(name);
  if (!fact.range.high || *fact.range.high > value) {
    fact.range.high = value;
  }
  fact.range_told = true;
  tell(std::move(name), fact);
}

void Assumptions::divisible(std::string name, int64_t by) {
  if (by == 0 || by == std::numeric_limits<int64_t>::min()) {
    refuse("axis `{}` cannot be said to be a multiple of {}", name, by);
  }
  Fact fact = known(name);
  const int64_t k = by < 0 ? -by : by;
  // Where the common multiple leaves 64 bits, the larger of the two facts is kept: less is known, nothing is wrong.
  const auto both = checked_mul(fact.multiple / std::gcd(fact.multiple, k), k);
  fact.multiple = both.value_or(std::max(fact.multiple, k));
  tell(std::move(name), fact);
}

Interval Assumptions::range_of(std::string_view name) const { return known(name).range; }

int64_t Assumptions::multiple_of(std::string_view name) const { return known(name).multiple; }

Interval Assumptions::range(const Extent& extent) const {
  if (const auto value = extent.constant()) {
    return Interval::single(*value);
  }
  if (const auto name = extent.as_name()) {
    return range_of(*name);
  }
  const Scaled scaled = scale_names(extent, *this);
  return RangeFinder(scaled.known).range(scaled.extent);
}

bool Assumptions::is_multiple(const Extent& extent, int64_t k) const {
  const Scaled scaled = scale_names(extent, *this);
  const Congruence c =
      congruence_of(scaled.extent, [&](std::string_view name) { return scaled.known.multiple_of(name); });
  if (k == 0) {
    return c.modulus == 0 && c.rest == 0;
  }
  if (k == std::numeric_limits<int64_t>::min()) {
    return c == Congruence{0, 0};
  }
  return c.modulus % k == 0 && c.rest % k == 0;
}

}  // namespace tenon
