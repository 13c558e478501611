#include "onnx/import/known_map.h"

#include <cmath>
#include <numeric>

#include "kernel/scalar/scalar_program.h"
#include "tenon/assumptions.h"

namespace tenon::importer {
namespace {

using Known = std::optional<Element>;

constexpr int kMostFractionBits = 24;

Element whole(Extent extent) { return {std::move(extent), 1}; }
Element flag(bool value) { return whole(value ? 1 : 0); }

/// The fraction, reduced where the numerator is a number.
Element fraction(Extent numerator, int64_t denominator) {
  if (denominator < 0) {
    numerator = -numerator;
    denominator = -denominator;
  }
  if (const std::optional<int64_t> number = numerator.constant()) {
    const int64_t divisor = std::gcd(*number, denominator);
    return {*number / divisor, denominator / divisor};
  }
  if (const std::optional<Extent> quotient = divide_exactly(numerator, denominator)) {
    return {*quotient, 1};
  }
  return {std::move(numerator), denominator};
}

std::optional<Element> from_number(double number) {
  if (!std::isfinite(number) || std::fabs(number) > 9e15) {
    return {};
  }
  for (int bits = 0; bits <= kMostFractionBits; ++bits) {
    const double scaled = std::ldexp(number, bits);
    if (scaled == std::floor(scaled) && std::fabs(scaled) < 9e18) {
      return Element{static_cast<int64_t>(scaled), int64_t{1} << bits};
    }
  }
  return {};
}

/// Both over one denominator.
std::pair<Extent, Extent> aligned(const Element& a, const Element& b) {
  return {a.numerator * b.denominator, b.numerator * a.denominator};
}

Known less(const Element& a, const Element& b, bool or_equal) {
  const auto [x, y] = aligned(a, b);
  if (proves_at_least(y, or_equal ? x : x + 1)) {
    return flag(true);
  }
  return proves_at_least(x, or_equal ? y + 1 : y) ? Known(flag(false)) : Known();
}

Known equal(const Element& a, const Element& b) {
  const auto [x, y] = aligned(a, b);
  const Comparison comparison = compare(x, y);
  return comparison == Comparison::unknown ? Known() : Known(flag(comparison == Comparison::equal));
}

Element round_down(const Element& x) { return x.denominator == 1 ? x : whole(floordiv(x.numerator, x.denominator)); }

/// Rounds toward zero, or to the remainder of that; the divisor must be known to be positive, or a number.
Known integer_division(const Element& a, const Element& b, bool remainder) {
  if (a.denominator != 1 || b.denominator != 1 || b.numerator == Extent(0)) {
    return {};
  }
  const Extent& x = a.numerator;
  const Extent& y = b.numerator;
  if (!proves_at_least(y, 0)) {
    const std::optional<int64_t> number = x.constant();
    const std::optional<int64_t> by = y.constant();
    return number && by && *by != -1 ? Known(whole(remainder ? *number % *by : *number / *by)) : Known();
  }
  if (proves_at_least(x, 0)) {
    return whole(remainder ? mod(x, y) : floordiv(x, y));
  }
  const Extent quotient = simplify(max(floordiv(x, y), 0) + min(ceildiv(x, y), 0));
  return whole(remainder ? x - y * quotient : quotient);
}

Known divide(const Element& a, const Element& b, Dtype dtype) {
  if (!is_float(dtype)) {
    return integer_division(a, b, false);
  }
  const std::optional<int64_t> divisor = b.numerator.constant();
  if (!divisor || *divisor == 0) {
    const std::optional<Extent> quotient =
        b.numerator == Extent(0) ? std::nullopt : divide_exactly(a.numerator * b.denominator, b.numerator);
    return quotient ? Known(fraction(*quotient, a.denominator)) : Known();
  }
  return fraction(a.numerator * b.denominator, *divisor * a.denominator);
}

Known cast(const Element& x, Dtype from, Dtype to) {
  if (is_float(to)) {
    return x;
  }
  if (const std::optional<int64_t> number = x.numerator.constant(); number && x.denominator == 1) {
    const Array wide = Array::from<int64_t>({}, {*number});
    return whole(wide.cast(to).cast(Dtype::i64).values<int64_t>()[0]);
  }
  if (to == Dtype::boolean) {
    const Known zero = equal(x, whole(0));
    return zero ? Known(flag(*zero == flag(false))) : Known();
  }
  if (is_float(from) && !proves_at_least(x.numerator, 0)) {
    return {};
  }
  return round_down(x);
}

/// Both lanes of a select must be known to be equal where the condition is not known.
Known select(const Known& condition, const Known& yes, const Known& no) {
  if (!condition) {
    return yes && no && *yes == *no ? yes : Known();
  }
  return *condition == flag(false) ? no : yes;
}

Known logic(Prim prim, const Known& a, const Known& b) {
  const Element no = flag(false);
  if (prim == Prim::bit_and && ((a && *a == no) || (b && *b == no))) {
    return no;
  }
  if (prim == Prim::bit_or && ((a && *a == flag(true)) || (b && *b == flag(true)))) {
    return flag(true);
  }
  if (!a || !b) {
    return {};
  }
  switch (prim) {
    case Prim::bit_and: return flag(*a != no && *b != no);
    case Prim::bit_or: return flag(*a != no || *b != no);
    default: return flag(*a != *b);
  }
}

Known extremum(const Element& a, const Element& b, bool largest) {
  const auto [x, y] = aligned(a, b);
  const Extent chosen = largest ? max(x, y) : min(x, y);
  return fraction(simplify(chosen), a.denominator * b.denominator);
}

Known unary(Prim prim, const ScalarInstruction& code, const Element& a) {
  switch (prim) {
    case Prim::cast: return cast(a, code.operand_dtype, code.dtype);
    case Prim::neg: return Element{-a.numerator, a.denominator};
    case Prim::abs: return proves_at_least(a.numerator, 0) ? Known(a) : Known();
    case Prim::floor: return round_down(a);
    default: return {};
  }
}

Known binary(Prim prim, const ScalarInstruction& code, const Element& a, const Element& b) {
  const auto [x, y] = aligned(a, b);
  const int64_t denominator = a.denominator * b.denominator;
  switch (prim) {
    case Prim::add: return fraction(x + y, denominator);
    case Prim::sub: return fraction(x - y, denominator);
    case Prim::mul: return fraction(a.numerator * b.numerator, denominator);
    case Prim::div: return divide(a, b, code.operand_dtype);
    case Prim::rem: return integer_division(a, b, true);
    case Prim::min: return extremum(a, b, false);
    case Prim::max: return extremum(a, b, true);
    case Prim::eq: return equal(a, b);
    case Prim::lt: return less(a, b, false);
    case Prim::le: return less(a, b, true);
    default: return {};
  }
}

Known step(const ScalarInstruction& code, const Elements& x, const std::vector<Known>& registers) {
  const auto at = [&](int i) -> const Known& { return registers[static_cast<size_t>(i)]; };
  switch (code.prim) {
    case Prim::argument: return x[static_cast<size_t>(code.a)];
    case Prim::constant: return from_number(code.literal);
    case Prim::select: return select(at(code.a), at(code.b), at(code.c));
    case Prim::bit_and:
    case Prim::bit_or:
    case Prim::bit_xor: return code.dtype == Dtype::boolean ? logic(code.prim, at(code.a), at(code.b)) : Known();
    default: break;
  }
  const int operands = arity(code.prim);
  if (!at(code.a) || (operands > 1 && !at(code.b))) {
    return {};
  }
  return operands == 1 ? unary(code.prim, code, *at(code.a)) : binary(code.prim, code, *at(code.a), *at(code.b));
}

/// A comparison of these two, where no rule decides it.
std::optional<SizeCondition> undecided(const ScalarInstruction& code, const Element& a, const Element& b) {
  const auto [x, y] = aligned(a, b);
  switch (code.prim) {
    case Prim::eq: return SizeCondition{SizeCondition::Kind::equal, x, y};
    case Prim::lt: return SizeCondition{SizeCondition::Kind::less, x, y};
    case Prim::le: return SizeCondition{SizeCondition::Kind::less, x, y + 1};
    default: return {};
  }
}

/// The comparison that an instruction on what is known makes, where its result is not.
std::optional<SizeCondition> open_question(const ScalarInstruction& code, const std::vector<Known>& registers) {
  const auto at = [&](int i) -> const Known& { return registers[static_cast<size_t>(i)]; };
  if (code.prim == Prim::cast && code.dtype == Dtype::boolean && at(code.a)) {
    return SizeCondition{SizeCondition::Kind::equal, at(code.a)->numerator, 0, true};
  }
  const bool compares = code.prim == Prim::eq || code.prim == Prim::lt || code.prim == Prim::le;
  return compares && at(code.a) && at(code.b) ? undecided(code, *at(code.a), *at(code.b)) : std::nullopt;
}

SizeCondition negated_if(SizeCondition condition, bool negate) {
  condition.negated = condition.negated != negate;
  return condition;
}

/// A flag that meets a known one.
std::optional<SizeCondition> combined(Prim prim, const SizeCondition& condition, const Element& other) {
  const bool set = other != flag(false);
  switch (prim) {
    case Prim::eq: return negated_if(condition, !set);
    case Prim::bit_xor: return negated_if(condition, set);
    case Prim::bit_and: return set ? std::optional(condition) : std::nullopt;
    case Prim::bit_or: return set ? std::nullopt : std::optional(condition);
    default: return {};
  }
}

/// The comparison that an instruction gives whose result is not known.
std::optional<SizeCondition> judge(const ScalarInstruction& code, const std::vector<Judged>& registers) {
  const auto at = [&](int i) -> const Judged& { return registers[static_cast<size_t>(i)]; };
  const Judged& a = at(code.a);
  if (code.prim == Prim::cast) {
    if (a.known && code.dtype == Dtype::boolean) {
      return SizeCondition{SizeCondition::Kind::equal, a.known->numerator, 0, true};
    }
    return a.condition;
  }
  if (code.prim == Prim::select) {
    const Judged& yes = at(code.b);
    const Judged& no = at(code.c);
    const bool is_flag = a.condition && yes.known && no.known &&
                         (*yes.known == flag(true)) != (*no.known == flag(true)) &&
                         (*yes.known == flag(false)) != (*no.known == flag(false));
    return is_flag ? std::optional(negated_if(*a.condition, *yes.known == flag(false))) : std::nullopt;
  }
  if (arity(code.prim) != 2) {
    return {};
  }
  const Judged& b = at(code.b);
  if (a.known && b.known) {
    return undecided(code, *a.known, *b.known);
  }
  if (a.condition && b.known) {
    return combined(code.prim, *a.condition, *b.known);
  }
  return a.known && b.condition ? combined(code.prim, *b.condition, *a.known) : std::nullopt;
}

/// Beyond this, denominators come from chains of factors that nobody rounds.
constexpr int64_t kLargestDenominator = int64_t{1} << 24;

}  // namespace

std::optional<Element> to_element(const Array& array, int64_t i) {
  if (is_float(array.dtype())) {
    return from_number(array.at(i));
  }
  return whole(array.window(i, {}).cast(Dtype::i64).values<int64_t>()[0]);
}

std::optional<Element> map_elements(const Map& op, const std::vector<Dtype>& dtypes, const Elements& x,
                                    const Decide& decide) {
  const ScalarProgram program = flatten({instantiate(*op.fn, dtypes, op.dtype)});
  std::vector<Known> registers;
  for (const ScalarInstruction& code : program.code) {
    Known result = step(code, x, registers);
    if (!result && decide) {
      const std::optional<SizeCondition> question = open_question(code, registers);
      result = question ? Known(flag(decide(*question))) : Known();
    }
    registers.push_back(std::move(result));
    if (registers.back() && registers.back()->denominator > kLargestDenominator) {
      registers.back().reset();
    }
  }
  return registers[static_cast<size_t>(program.results[0])];
}

std::optional<SizeCondition> map_condition(const Map& op, const std::vector<Dtype>& dtypes,
                                           const std::vector<Judged>& x) {
  const ScalarProgram program = flatten({instantiate(*op.fn, dtypes, op.dtype)});
  std::vector<Judged> registers;
  std::vector<Known> known;
  for (const ScalarInstruction& code : program.code) {
    if (code.prim == Prim::argument) {
      registers.push_back(x[static_cast<size_t>(code.a)]);
    } else {
      Judged result{.known = step(code, {}, known), .condition = {}};
      result.condition = result.known || code.prim == Prim::constant ? std::nullopt : judge(code, registers);
      registers.push_back(std::move(result));
    }
    known.push_back(registers.back().known);
  }
  return registers[static_cast<size_t>(program.results[0])].condition;
}

std::optional<Element> reduce_elements(ReduceOp op, const Element& a, const Element& b) {
  const ScalarInstruction code{.prim = Prim::add, .dtype = Dtype::i64, .operand_dtype = Dtype::i64};
  switch (op) {
    case ReduceOp::sum: return binary(Prim::add, code, a, b);
    case ReduceOp::product: return binary(Prim::mul, code, a, b);
    case ReduceOp::max: return binary(Prim::max, code, a, b);
    case ReduceOp::min: return binary(Prim::min, code, a, b);
    case ReduceOp::any: return logic(Prim::bit_or, a, b);
    case ReduceOp::all: return logic(Prim::bit_and, a, b);
    default: return {};
  }
}

}  // namespace tenon::importer
