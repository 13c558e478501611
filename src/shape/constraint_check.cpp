#include "shape/constraint_check.h"

#include <algorithm>
#include <vector>

#include "base/checked.h"
#include "base/fail.h"
#include "base/refused.h"
#include "shape/extent_names.h"

namespace tenon {
namespace {

using Kind = Constraint::Kind;

/// axis `n`, or `n+1`
std::string subject(const Extent& extent) {
  const std::optional<std::string> name = extent.as_name();
  return name ? fmt::format("axis `{}`", *name) : fmt::format("`{}`", extent.to_string());
}

/// 768, or axis `n`, which is 4
std::string target(const Extent& extent, int64_t value) {
  return extent.is_constant() ? fmt::format("{}", value) : fmt::format("{}, which is {}", subject(extent), value);
}

/// The names inside expressions, whose sizes the message has not shown yet.
std::string sizes_inside(const Constraint& constraint, const SizeLookup& lookup) {
  std::vector<std::string> names;
  for (const Extent* side : {&constraint.lhs, &constraint.rhs}) {
    if (!side->as_name()) {
      for (std::string& name : side->names()) {
        if (std::find(names.begin(), names.end(), name) == names.end()) {
          names.push_back(std::move(name));
        }
      }
    }
  }
  std::string text;
  for (const std::string& name : names) {
    text += fmt::format("{}{}={}", text.empty() ? " (" : ", ", algebra::quoted_name(name), lookup(name).value_or(0));
  }
  return text.empty() ? text : text + ")";
}

std::string demand(Kind kind, const Extent& rhs, int64_t value) {
  const std::string wanted = target(rhs, value);
  switch (kind) {
    case Kind::equal: return (rhs.is_constant() ? "must be " : "must equal ") + wanted;
    case Kind::at_least: return "must be at least " + wanted;
    case Kind::divisible: return "must be a multiple of " + wanted;
    case Kind::broadcasts: return "must be 1 or " + wanted;
  }
  TENON_CHECK(false, "constraint kind {}", static_cast<int>(kind));
}

[[noreturn]] void fail_violated(const Constraint& constraint, int64_t lhs, int64_t rhs, const SizeLookup& lookup) {
  // A sentence about a number that is always the same says little: speak of the other side.
  const bool turn =
      constraint.lhs.is_constant() && (constraint.kind == Kind::equal || constraint.kind == Kind::at_least);
  std::string text =
      turn ? fmt::format("{} is {}, must be {}{}", subject(constraint.rhs), rhs,
                         constraint.kind == Kind::at_least ? "at most " : "", lhs)
           : fmt::format("{} is {}, {}", subject(constraint.lhs), lhs, demand(constraint.kind, constraint.rhs, rhs));
  text += sizes_inside(constraint, lookup);
  if (!constraint.needed_by.empty()) {
    text += ": needed by " + constraint.needed_by;
  }
  Refused error(text);
  if (!constraint.place.empty()) {
    error.note(fmt::format("at node \"{}\"", constraint.place));
  }
  throw std::move(error);
}

int64_t value_of(const Extent& side, const Constraint& constraint, const SizeLookup& lookup) {
  for (const std::string& name : side.names()) {
    if (!lookup(name)) {
      refuse("axis `{}` is not bound, but `{}` must hold{}", name, constraint.to_string(), describe_need(constraint));
    }
  }
  try {
    return side.evaluate(lookup);
  } catch (Error& error) {  // overflow or division by zero
    error.note(fmt::format("in `{}`{}", constraint.to_string(), describe_need(constraint)));
    throw;
  }
}

}  // namespace

bool holds(Kind kind, int64_t lhs, int64_t rhs) {
  switch (kind) {
    case Kind::equal: return lhs == rhs;
    case Kind::at_least: return lhs >= rhs;
    case Kind::divisible: return rhs == 0 ? lhs == 0 : *checked_floormod(lhs, rhs) == 0;
    case Kind::broadcasts: return lhs == 1 || lhs == rhs;
  }
  TENON_CHECK(false, "constraint kind {}", static_cast<int>(kind));
}

void require(const Constraint& constraint, const SizeLookup& lookup) {
  const int64_t lhs = value_of(constraint.lhs, constraint, lookup);
  const int64_t rhs = value_of(constraint.rhs, constraint, lookup);
  if (!holds(constraint.kind, lhs, rhs)) {
    fail_violated(constraint, lhs, rhs, lookup);
  }
}

std::string describe_need(const Constraint& constraint) {
  std::string text;
  if (!constraint.needed_by.empty()) {
    text = "needed by " + constraint.needed_by;
  }
  if (!constraint.place.empty()) {
    text += fmt::format("{}at node \"{}\"", text.empty() ? "" : " ", constraint.place);
  }
  return text.empty() ? text : " (" + text + ")";
}

}  // namespace tenon
