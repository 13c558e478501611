#include "shape/unify.h"

#include "base/fail.h"
#include "base/refused.h"

namespace tenon {
namespace {

using Kind = Constraint::Kind;

/// axis `seq+1`, or axis of size 8
std::string describe(const Axis& axis) {
  return axis.is_static() && axis.label().empty() ? fmt::format("axis of size {}", axis.to_string())
                                                  : fmt::format("axis `{}`", axis.to_string());
}

[[noreturn]] void fail_different(const Axis& a, const Axis& b) {
  if (!a.label().empty() && a.label() == b.label()) {
    refuse("axis `{}` is {} on the left, {} on the right", a.label(), a.extent().to_string(), b.extent().to_string());
  }
  refuse("{} against {}", describe(a), describe(b));
}

bool is_chosen_name(const Axis& axis) {
  const std::optional<std::string> name = axis.extent().as_name();
  return name && !is_generated_name(*name);
}

bool is_generated(const Axis& axis) {
  const std::optional<std::string> name = axis.extent().as_name();
  return name && is_generated_name(*name);
}

/// `axis`, with the other's name when it has none of its own. Generated names label nothing.
Axis named_after(const Axis& axis, const Axis& other) {
  const std::string name = other.name();
  if (!axis.name().empty() || name.empty() || is_generated_name(name)) {
    return axis;
  }
  return Axis::named(name, axis.extent());
}

/// The two are equal, by a check when bound: keep the one that says more.
Unified equal_when_bound(const Axis& a, const Axis& b, NameRule rule) {
  if (rule == NameRule::strict && is_chosen_name(a) && is_chosen_name(b)) {
    fail_different(a, b);
  }
  const bool b_says_more = (b.is_static() && a.is_dynamic()) || (is_generated(a) && !is_generated(b));
  const Axis& kept = b_says_more ? b : a;
  const Axis& other = b_says_more ? a : b;
  return {named_after(kept, other), {{Kind::equal, other.extent(), kept.extent()}}};
}

bool is_one(const Axis& axis) { return !axis.is_anonymous() && axis.extent() == Extent(1); }

bool cannot_be_one(const Axis& axis) { return compare(axis.extent(), 1) == Comparison::different; }

/// `from` is 1 or `to`.
Unified broadcast_to(const Axis& from, const Axis& to) {
  const Constraint needed{Kind::broadcasts, from.extent(), to.extent()};
  if (decide(needed) == Verdict::fails) {
    fail_different(from, to);
  }
  return {to, {needed}};
}

}  // namespace

bool never_exceeds(const Extent& part, const Extent& whole) { return simplify(max(whole, part)) == whole; }

Unified unify(const Axis& a, const Axis& b, NameRule rule) {
  if (a.is_anonymous() || b.is_anonymous()) {
    return {a.is_anonymous() ? b : a};
  }
  switch (compare(a.extent(), b.extent())) {
    case Comparison::equal: return {named_after(a, b)};
    case Comparison::different: fail_different(a, b);
    case Comparison::unknown: break;
  }
  return equal_when_bound(a, b, rule);
}

Unified broadcast_axes(const Axis& a, const Axis& b, NameRule rule) {
  if (is_one(a) != is_one(b)) {
    return {is_one(a) ? b : a};
  }
  if (a.is_anonymous() || b.is_anonymous()) {
    return {a.is_anonymous() ? b : a};
  }
  const Comparison sizes = compare(a.extent(), b.extent());
  if (sizes == Comparison::equal) {
    return {named_after(a, b)};
  }
  // The same name for a size that is not 1 says that no broadcast is meant.
  const bool same_name = !a.name().empty() && a.name() == b.name();
  if (same_name && sizes == Comparison::different) {
    fail_different(a, b);
  }
  if (same_name) {
    return equal_when_bound(a, b, rule);
  }
  const bool a_fixed = cannot_be_one(a);
  const bool b_fixed = cannot_be_one(b);
  if (sizes == Comparison::different && a_fixed == b_fixed) {
    fail_different(a, b);
  }
  if (a_fixed != b_fixed) {
    return a_fixed ? broadcast_to(b, a) : broadcast_to(a, b);
  }
  if (never_exceeds(a.extent(), b.extent()) != never_exceeds(b.extent(), a.extent()) && !a_fixed) {
    return never_exceeds(a.extent(), b.extent()) ? broadcast_to(a, b) : broadcast_to(b, a);
  }
  if (is_generated(a) != is_generated(b) && !a_fixed) {
    return is_generated(a) ? broadcast_to(a, b) : broadcast_to(b, a);
  }
  return equal_when_bound(a, b, rule);
}

}  // namespace tenon
