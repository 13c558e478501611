#include "shape/constraint_set.h"

#include <algorithm>
#include <iterator>

#include "base/checked.h"
#include "base/fail.h"
#include "base/refused.h"
#include "shape/constraint_check.h"

namespace tenon {

using Kind = Constraint::Kind;

Constraint ConstraintSet::reduce(const Constraint& given) const {
  Constraint reduced = given;
  reduced.lhs = given.lhs.substitute(substitutions_);
  reduced.rhs = given.rhs.substitute(substitutions_);
  return reduced;
}

void ConstraintSet::add(const Constraint& constraint) {
  if (decide(reduce(constraint), assumptions_) == Verdict::holds) {
    return;
  }
  ConstraintSet next = *this;
  switch (next.insert(constraint)) {
    case Verdict::holds: return;
    case Verdict::fails: fail_contradiction(constraint);
    case Verdict::unknown: break;
  }
  next.added_.push_back(constraint);
  next.remaining_.clear();
  for (const Entry& entry : next.entries_) {
    next.remaining_.push_back(entry.reduced);
  }
  *this = std::move(next);
}

Verdict ConstraintSet::insert(Constraint given) {
  Constraint reduced = reduce(given);
  if (const Verdict verdict = decide(reduced, assumptions_); verdict != Verdict::unknown) {
    return verdict;
  }
  if (const std::optional<Constraint> equality = broadcast_as_equality(reduced, assumptions_)) {
    // From here on it is an equality for good: what ruled the other way out may itself be dropped because of it.
    given.kind = Kind::equal;
    given.rhs = equality->rhs == reduced.rhs ? given.rhs : equality->rhs;
    reduced = *equality;
  }
  for (const Entry& entry : entries_) {
    if (const Verdict verdict = decide_beside(reduced, entry.reduced, assumptions_); verdict != Verdict::unknown) {
      return verdict;
    }
  }
  if (reduced.kind == Kind::equal) {
    if (const auto solved = solve_equality(reduced.lhs, reduced.rhs)) {
      return eliminate(solved->first, solved->second, given);
    }
  }
  return keep(given, std::move(reduced));
}

Verdict ConstraintSet::eliminate(const std::string& name, const Extent& value, const Constraint& given) {
  equalities_.push_back(given);
  std::vector<Extent> changed = {value};
  for (auto& [eliminated, old] : substitutions_) {
    if (mentions(old, name)) {
      old = old.substitute({{name, value}});
      changed.push_back(old);
    }
  }
  substitutions_.emplace(name, value);
  for (const Extent& extent : changed) {
    if (demand_size(extent) == Verdict::fails) {
      return Verdict::fails;
    }
  }
  return insert_again([&](const Entry& entry) { return mentions(entry.reduced, name); });
}

/// What an axis is equal to is at least 0.
Verdict ConstraintSet::demand_size(const Extent& value) {
  const Constraint not_negative{Kind::at_least, value, 0};
  const Verdict verdict = decide(not_negative, assumptions_);
  if (verdict == Verdict::unknown) {
    if (const std::optional<Fact> fact = fact_of(not_negative)) {
      return learn(*fact);
    }
  }
  return verdict;
}

Verdict ConstraintSet::keep(const Constraint& given, Constraint reduced) {
  const std::optional<Fact> fact = fact_of(reduced);
  if (fact) {
    // Said in the one name that it is about: names that cancelled out would have it inserted again, to prove itself.
    reduced = fact->as_constraint(given);
    std::erase_if(entries_, [&](const Entry& entry) { return entry.fact && entry.fact->follows_from(*fact); });
  }
  entries_.push_back({given, std::move(reduced), fact});
  return fact ? learn(*fact) : Verdict::unknown;
}

Verdict ConstraintSet::learn(const Fact& fact) {
  if (!fact.tell(assumptions_)) {
    return Verdict::fails;
  }
  for (const auto& [eliminated, value] : substitutions_) {
    if (mentions(value, fact.name) && decide({Kind::at_least, value, 0}, assumptions_) == Verdict::fails) {
      return Verdict::fails;
    }
  }
  return insert_again([&](const Entry& entry) { return !entry.fact && mentions(entry.reduced, fact.name); });
}

/// Take the entries for which `which` holds out and insert them anew: more may be known of them now. Each is weighed
/// against all others, so none proves itself.
template <class Predicate>
Verdict ConstraintSet::insert_again(Predicate which) {
  std::vector<Entry> taken;
  std::copy_if(entries_.begin(), entries_.end(), std::back_inserter(taken), which);
  std::erase_if(entries_, which);
  for (const Entry& entry : taken) {
    if (insert(entry.given) == Verdict::fails) {
      return Verdict::fails;
    }
  }
  return Verdict::unknown;
}

/// Few of the added constraints that clash with this one. Of all, in order, the one that completes a contradiction is
/// part of it; starting over with it in hand finds the next, until they clash by themselves. Nothing when the
/// contradiction does not show in another order.
std::optional<std::vector<Constraint>> ConstraintSet::find_clash(const Constraint& constraint) const {
  std::vector<Constraint> clash;
  while (true) {
    ConstraintSet trial;
    bool fails = trial.insert(constraint) == Verdict::fails;
    for (size_t i = 0; i < clash.size() && !fails; ++i) {
      fails = trial.insert(clash[i]) == Verdict::fails;
    }
    if (fails) {
      return clash;
    }
    const auto last = std::find_if(added_.begin(), added_.end(),
                                   [&](const Constraint& c) { return trial.insert(c) == Verdict::fails; });
    if (last == added_.end() || std::find(clash.begin(), clash.end(), *last) != clash.end()) {
      return std::nullopt;
    }
    clash.push_back(*last);
  }
}

void ConstraintSet::fail_contradiction(const Constraint& constraint) const {
  const std::optional<std::vector<Constraint>> clash = find_clash(constraint);
  std::string text = constraint.needed_by.empty() ? "" : constraint.needed_by + " needs ";
  text += fmt::format("`{}`, which ", constraint.to_string());
  if (!clash) {
    text += "contradicts what is needed before it";
  } else if (clash->empty()) {
    text += "cannot hold";
  } else {
    text += "contradicts ";
    for (const Constraint& c : *clash) {
      text += fmt::format("{}`{}`{}", &c == &clash->front() ? "" : " and ", c.to_string(), describe_need(c));
    }
  }
  Refused error(text);
  if (!constraint.place.empty()) {
    error.note(fmt::format("at node \"{}\"", constraint.place));
  }
  throw std::move(error);
}

ConstraintSet ConstraintSet::without(const std::set<std::string, std::less<>>& names) const {
  ConstraintSet result;
  for (const Constraint& constraint : added_) {
    if (std::none_of(names.begin(), names.end(), [&](const auto& name) { return mentions(constraint, name); })) {
      result.add(constraint);
    }
  }
  return result;
}

Extent ConstraintSet::representative(std::string_view name) const {
  const auto found = substitutions_.find(name);
  return found == substitutions_.end() ? Extent::name(name) : found->second;
}

Bindings ConstraintSet::complete(const Bindings& bindings) const {
  Bindings result = bindings;
  std::map<std::string, Extent, std::less<>> known;
  for (const auto& [name, size] : bindings) {
    known.emplace(name, size);
  }
  for (bool learned = true; learned;) {
    learned = false;
    for (const auto& [name, value] : substitutions_) {
      const Extent difference = (Extent::name(name) - value).substitute(known);
      const std::vector<std::string> unknown = difference.names();
      const auto linear = unknown.size() == 1 ? difference.linear_in(unknown[0]) : std::nullopt;
      if (!linear) {
        continue;
      }
      const auto [offset, factor] = *linear;
      const std::optional<int64_t> negated = checked_sub(0, offset);
      const std::optional<int64_t> size = negated ? checked_floordiv(*negated, factor) : std::nullopt;
      if (!size || *size < 0 || *checked_floormod(offset, factor) != 0) {
        const auto source = std::find_if(equalities_.begin(), equalities_.end(),
                                         [&](const Constraint& c) { return mentions(c, unknown[0]); });
        refuse("no size of axis `{}` satisfies `{} == {}`{}{}{}", unknown[0], name, value.to_string(),
               bindings.empty() ? "" : " at ", bindings.to_string(),
               source == equalities_.end() ? "" : describe_need(*source));
      }
      result.set(unknown[0], *size);
      known.emplace(unknown[0], *size);
      learned = true;
    }
  }
  return result;
}

void ConstraintSet::check(const Bindings& bindings) const {
  const Bindings sizes = complete(bindings);
  const SizeLookup lookup = [&](std::string_view name) { return sizes.find(name); };
  for (const Constraint& constraint : equalities_) {
    require(constraint, lookup);
  }
  for (const Entry& entry : entries_) {
    require(entry.given, lookup);
  }
}

}  // namespace tenon
