#include "passes/simplify_maps.h"

#include <cmath>
#include <limits>
#include <unordered_map>

#include "ir/node.h"
#include "ops/scalar/scalar_table.h"
#include "passes/rewriting/uniform.h"
#include "tenon/ops.h"

namespace tenon::passes {
namespace {

using Operands = const std::vector<Value>&;
using Simpler = std::optional<Value>;

/// Every element is `number`, signed zeros told apart in floats.
bool is(const Value& x, double number) {
  const std::optional<double> found = uniform_number(x);
  return found == number && (!is_float(x.dtype()) || std::signbit(*found) == std::signbit(number));
}

/// The operand of `x` when x is a map of the row `fn`.
const Value* operand_of(const Value& x, const ScalarFn& fn) {
  const auto* map = x.node().as<Map>();
  return map != nullptr && map->fn == &fn ? &x.node().inputs[0] : nullptr;
}

Value zeros_like(const Value& x) { return full(x.shape(), 0); }

/// Rules: what a row is on these operands, or nothing.

Simpler add_nothing(const Map&, Operands x) {
  const double nothing = is_float(x[0].dtype()) ? -0.0 : 0.0;  // x + 0.0 would make 0 of -0
  return is(x[1], nothing) ? Simpler(x[0]) : is(x[0], nothing) ? Simpler(x[1]) : std::nullopt;
}

Simpler add_negative(const Map&, Operands x) {
  static const ScalarFn& neg_row = scalar_fn("neg");
  if (const Value* y = operand_of(x[1], neg_row)) {
    return x[0] - *y;
  }
  const Value* y = operand_of(x[0], neg_row);
  return y != nullptr ? Simpler(x[1] - *y) : std::nullopt;
}

Simpler subtract_nothing(const Map&, Operands x) { return is(x[1], 0.0) ? Simpler(x[0]) : std::nullopt; }

Simpler subtract_negative(const Map&, Operands x) {
  static const ScalarFn& neg_row = scalar_fn("neg");
  const Value* y = operand_of(x[1], neg_row);
  return y != nullptr ? Simpler(x[0] + *y) : std::nullopt;
}

Simpler subtract_itself(const Map& map, Operands x) {
  return is_integer(map.dtype) && x[0] == x[1] ? Simpler(zeros_like(x[0])) : std::nullopt;
}

Simpler multiply_by_one(const Map&, Operands x) {
  return is(x[1], 1) ? Simpler(x[0]) : is(x[0], 1) ? Simpler(x[1]) : std::nullopt;
}

Simpler multiply_by_zero(const Map& map, Operands x) {
  return is_integer(map.dtype) && (is(x[0], 0) || is(x[1], 0)) ? Simpler(zeros_like(x[0])) : std::nullopt;
}

/// The first operand when the second is 1: quotients and powers.
Simpler by_one(const Map&, Operands x) { return is(x[1], 1) ? Simpler(x[0]) : std::nullopt; }

/// A product, where the reciprocal is exact in every float type.
Simpler divide_by_power_of_two(const Map& map, Operands x) {
  constexpr int kLargest = 13;  // 2^-14 is the smallest normal number of f16
  const std::optional<double> by = uniform_number(x[1]);
  int exponent = 0;
  const bool applies =
      is_float(map.dtype) && by && std::fabs(std::frexp(*by, &exponent)) == 0.5 && std::abs(exponent) <= kLargest;
  return applies ? Simpler(x[0] * (1 / *by)) : std::nullopt;
}

Simpler square_by_power(const Map&, Operands x) { return is(x[1], 2) ? Simpler(square(x[0])) : std::nullopt; }

/// f(f(x)) is x.
Simpler undo(const Map& map, Operands x) {
  const Value* inner = operand_of(x[0], *map.fn);
  return inner != nullptr ? Simpler(*inner) : std::nullopt;
}

/// f(f(x)) is f(x).
Simpler repeat(const Map& map, Operands x) {
  return operand_of(x[0], *map.fn) != nullptr ? Simpler(x[0]) : std::nullopt;
}

/// |-x| is |x|, but for the negative of an unsigned number, which is another one.
Simpler magnitude_of_negative(const Map& map, Operands x) {
  const Value* inner = operand_of(x[0], scalar_fn("neg"));
  return inner != nullptr && !is_unsigned_integer(map.dtype) ? Simpler(abs(*inner)) : std::nullopt;
}

/// f(x) is x.
Simpler pass_on(const Map&, Operands x) { return x[0]; }

/// f(x, x) is x.
Simpler same_operands(const Map&, Operands x) { return x[0] == x[1] ? Simpler(x[0]) : std::nullopt; }

Simpler choose(const Map&, Operands x) {
  const std::optional<double> condition = uniform_number(x[0]);
  return condition ? Simpler(*condition != 0 ? x[1] : x[2]) : x[1] == x[2] ? Simpler(x[1]) : std::nullopt;
}

/// Significant bits; every value of a dtype with no more of them, in no wider a range, is a value of this one.
int digits(Dtype dtype) {
  switch (dtype) {
    case Dtype::f64: return 53;
    case Dtype::f32: return 24;
    case Dtype::f16: return 11;
    case Dtype::bf16: return 8;
    case Dtype::boolean: return 1;
    default: return static_cast<int>(8 * byte_size(dtype)) - (is_signed_integer(dtype) ? 1 : 0);
  }
}

bool holds_all_of(Dtype wide, Dtype narrow) {
  if (wide == Dtype::boolean || (is_float(narrow) && !is_float(wide))) {
    return wide == narrow;
  }
  const bool same_range = !is_float(narrow) || wide == narrow || byte_size(wide) > byte_size(narrow);
  const bool sign_fits = is_float(wide) || !is_signed_integer(narrow) || is_signed_integer(wide);
  return same_range && sign_fits && digits(wide) >= digits(narrow);
}

/// A cast of a cast that lost nothing is a cast. Not from integers through floats to other integers: floats saturate
/// where integers keep their low bits.
Simpler direct_cast(const Map& map, Operands x) {
  if (map.dtype == x[0].dtype()) {
    return x[0];
  }
  const Value* inner = operand_of(x[0], *map.fn);
  if (inner == nullptr || !holds_all_of(x[0].dtype(), inner->dtype())) {
    return std::nullopt;
  }
  const bool saturates = is_integer(inner->dtype()) && is_float(x[0].dtype()) && !is_float(map.dtype);
  return saturates && map.dtype != inner->dtype() ? std::nullopt : Simpler(cast(*inner, map.dtype));
}

Simpler both_or_true(const Map&, Operands x) {
  return is(x[1], 1) ? Simpler(x[0]) : is(x[0], 1) ? Simpler(x[1]) : std::nullopt;
}

Simpler either_or_false(const Map&, Operands x) {
  return is(x[1], 0) ? Simpler(x[0]) : is(x[0], 0) ? Simpler(x[1]) : std::nullopt;
}

struct Rule {
  std::string_view row;
  Simpler (*apply)(const Map& map, Operands operands);
};

constexpr Rule kRules[] = {
    {"add", add_nothing},
    {"add", add_negative},
    {"sub", subtract_nothing},
    {"sub", subtract_negative},
    {"sub", subtract_itself},
    {"mul", multiply_by_one},
    {"mul", multiply_by_zero},
    {"div", by_one},
    {"div", divide_by_power_of_two},
    {"pow", by_one},
    {"pow", square_by_power},
    {"neg", undo},
    {"bit_not", undo},
    {"logical_not", undo},
    {"abs", repeat},
    {"abs", magnitude_of_negative},
    {"relu", repeat},
    {"min", same_operands},
    {"max", same_operands},
    {"bit_and", same_operands},
    {"bit_or", same_operands},
    {"logical_and", same_operands},
    {"logical_and", both_or_true},
    {"logical_or", same_operands},
    {"logical_or", either_or_false},
    {"select", choose},
    {"cast", direct_cast},
    {"stop_gradient", pass_on},
};

const std::vector<Rule>& rules_of(const ScalarFn& fn) {
  static const auto by_row = [] {
    std::unordered_map<const ScalarFn*, std::vector<Rule>> rules;
    for (const Rule& rule : kRules) {
      rules[&scalar_fn(rule.row)].push_back(rule);
    }
    return rules;
  }();
  static const std::vector<Rule> none;
  const auto found = by_row.find(&fn);
  return found == by_row.end() ? none : found->second;
}

}  // namespace

std::optional<Value> simplified_map(const Map& map, const std::vector<Value>& operands) {
  for (const Rule& rule : rules_of(*map.fn)) {
    if (Simpler simpler = rule.apply(map, operands)) {
      return simpler;
    }
  }
  return std::nullopt;
}

}  // namespace tenon::passes
