#include "tenon/constraint.h"

#include <array>

#include "base/fail.h"
#include "base/hash.h"
#include "shape/extent_names.h"
#include "shape/shape_text.h"

namespace tenon {
namespace {

using Kind = Constraint::Kind;

Verdict decide_equal(const Extent& a, const Extent& b, const Assumptions& assumptions) {
  switch (compare(a, b, assumptions)) {
    case Comparison::equal: return Verdict::holds;
    case Comparison::different: return Verdict::fails;
    case Comparison::unknown: break;
  }
  return Verdict::unknown;
}

Verdict decide_divisible(const Extent& number, const Extent& by, const Assumptions& assumptions) {
  if (by == Extent(0)) {
    return decide_equal(number, 0, assumptions);
  }
  if (number == Extent(0) || divide_exactly(number, by)) {
    return Verdict::holds;
  }
  return decide_equal(mod(number, by), 0, assumptions);
}

/// The relation in the text, as an operator at [begin, end).
struct Relation {
  std::string_view spelling;
  size_t begin = 0;
  size_t end = 0;
};

constexpr std::array<std::string_view, 6> kSymbols = {"==", ">=", "<=", "=", ">", "<"};

size_t word_end(std::string_view text, size_t at) {
  while (at < text.size() && algebra::continues_name(text[at])) {
    ++at;
  }
  return at;
}

/// A relation of words at `at`, where an operator may stand: `divides`, `multiple of`, `broadcasts to`.
std::optional<Relation> word_relation(std::string_view text, size_t at) {
  const size_t first_end = word_end(text, at);
  const std::string_view first = text.substr(at, first_end - at);
  if (first == "divides") {
    return Relation{first, at, first_end};
  }
  const std::string_view wanted = first == "multiple" ? "of" : first == "broadcasts" ? "to" : "";
  const size_t second = skip_blanks(text, first_end);
  const size_t second_end = word_end(text, second);
  if (!wanted.empty() && text.substr(second, second_end - second) == wanted) {
    return Relation{first, at, second_end};
  }
  return std::nullopt;
}

/// The first relation outside parentheses and backticks. Words count only where an operator may stand, after an
/// operand.
std::optional<Relation> find_relation(std::string_view text) {
  int depth = 0;
  bool after_operand = false;
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (depth == 0) {
      for (const std::string_view symbol : kSymbols) {
        if (text.substr(at, symbol.size()) == symbol) {
          return Relation{symbol, at, at + symbol.size()};
        }
      }
    }
    if (algebra::continues_name(c)) {
      if (depth == 0 && after_operand && algebra::starts_name(c)) {
        if (const std::optional<Relation> found = word_relation(text, at)) {
          return found;
        }
      }
      after_operand =
          !(after_operand && algebra::starts_name(c));  // a word after an operand is an operator, such as `mod`
      at = word_end(text, at);
    } else if (c == '`') {
      at = skip_quoted(text, at);
      after_operand = true;
    } else {
      depth += c == '(' ? 1 : c == ')' ? -1 : 0;
      if (skip_blanks(text, at) == at) {
        after_operand = c == ')';
      }
      ++at;
    }
  }
  return std::nullopt;
}

std::string_view operator_text(Kind kind) {
  switch (kind) {
    case Kind::equal: return "==";
    case Kind::at_least: return ">=";
    case Kind::divisible: return "multiple of";
    case Kind::broadcasts: return "broadcasts to";
  }
  TENON_CHECK(false, "constraint kind {}", static_cast<int>(kind));
}

}  // namespace

uint64_t Constraint::hash() const {
  return combine_hash(combine_hash(static_cast<uint64_t>(kind), lhs.hash()), rhs.hash());
}

std::string Constraint::to_string() const {
  return fmt::format("{} {} {}", lhs.to_string(), operator_text(kind), rhs.to_string());
}

Verdict decide(const Constraint& constraint, const Assumptions& assumptions) {
  const Extent& lhs = constraint.lhs;
  const Extent& rhs = constraint.rhs;
  switch (constraint.kind) {
    case Kind::equal: return decide_equal(lhs, rhs, assumptions);
    case Kind::at_least:
      if (proves_at_least(lhs, rhs, assumptions)) {
        return Verdict::holds;
      }
      return proves_at_least(rhs, lhs + 1, assumptions) ? Verdict::fails : Verdict::unknown;
    case Kind::divisible: return decide_divisible(lhs, rhs, assumptions);
    case Kind::broadcasts: {
      const Verdict one = decide_equal(lhs, 1, assumptions);
      const Verdict same = decide_equal(lhs, rhs, assumptions);
      if (one == Verdict::holds || same == Verdict::holds) {
        return Verdict::holds;
      }
      return one == Verdict::fails && same == Verdict::fails ? Verdict::fails : Verdict::unknown;
    }
  }
  TENON_CHECK(false, "constraint kind {}", static_cast<int>(constraint.kind));
}

Constraint parse_constraint(std::string_view text) {
  const std::optional<Relation> relation = find_relation(text);
  if (!relation) {
    fail("`{}` is no constraint: expected ==, >=, <=, `divides`, `multiple of` or `broadcasts to`", text);
  }
  const Extent left = parse_extent_part(text, 0, relation->begin);
  const Extent right = parse_extent_part(text, relation->end, text.size());
  const std::string_view spelling = relation->spelling;
  if (spelling == ">=") {
    return {Kind::at_least, left, right};
  }
  if (spelling == "<=") {
    return {Kind::at_least, right, left};
  }
  if (spelling == ">") {
    return {Kind::at_least, left, right + 1};
  }
  if (spelling == "<") {
    return {Kind::at_least, right, left + 1};
  }
  if (spelling == "divides") {
    return {Kind::divisible, right, left};
  }
  if (spelling == "multiple") {
    return {Kind::divisible, left, right};
  }
  return {spelling == "broadcasts" ? Kind::broadcasts : Kind::equal, left, right};
}

}  // namespace tenon
