// Activations that are rows of the scalar table, written out.
#include <algorithm>
#include <numbers>

#include "passes/recognize/recognize.h"
#include "passes/rewriting/match.h"

namespace tenon::passes {
namespace {

using namespace match;

constexpr double kSqrt2OverPi = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
constexpr double kGeluCubic = 0.044715;
constexpr double kGeluSigmoid = 1.702;

bool holds(const Factors& product, double number, std::vector<Value> values, Dtype dtype) {
  return is_near(product.number, number, dtype) && std::ranges::is_permutation(product.values, values);
}

/// y, of 1 + y.
std::optional<Value> more_than_one(const Value& value) {
  for (const auto& [one, other] : commuted(value, "add")) {
    if (is_number(one, 1)) {
      return other;
    }
  }
  return std::nullopt;
}

/// x, of x times `factor`.
std::optional<Value> times(const Value& value, double factor) {
  for (const auto& [x, number] : commuted(value, "mul")) {
    if (is_number(number, factor)) {
      return x;
    }
  }
  const auto* quotient = map_of(value, "div");
  return quotient != nullptr && is_number((*quotient)[1], 1 / factor) ? std::optional((*quotient)[0]) : std::nullopt;
}

/// x, of sqrt(2 / pi) * (x + 0.044715 * x^3), however that is multiplied out.
std::optional<Value> gelu_argument(const Value& value) {
  const Dtype dtype = value.dtype();
  for (const Value& sum : factors(value).values) {
    for (const auto& [x, cubic] : commuted(sum, "add")) {
      if (holds(factors(value, sum), kSqrt2OverPi, {sum}, dtype) &&
          holds(factors(cubic, x), kGeluCubic, {x, x, x}, dtype)) {
        return x;
      }
    }
    const std::optional<Value> quadratic = more_than_one(sum);
    for (const Value& x : quadratic ? factors(value).values : std::vector<Value>{}) {
      if (x != sum && holds(factors(value, x), kSqrt2OverPi, {x, sum}, dtype) &&
          holds(factors(*quadratic, x), kGeluCubic, {x, x}, dtype)) {
        return x;
      }
    }
  }
  return std::nullopt;
}

Recognized row(const Value& x, std::string_view name) {
  return {.operands = {x}, .build = [name](const std::vector<Value>& v) { return map(name, {v[0]}); }};
}

/// x/2 * (1 + erf(x / sqrt(2))) and x/2 * (1 + tanh(...)), the factors in any order.
std::optional<Recognized> find_gelu(const Value& result) {
  for (const Value& factor : factors(result).values) {
    const std::optional<Value> curve = more_than_one(factor);
    if (!curve) {
      continue;
    }
    const auto is_half_of = [&](const Value& x) { return holds(factors(result, x), 0.5, {x, factor}, result.dtype()); };
    if (const auto* erf = map_of(*curve, "erf")) {
      const std::optional<Value> x = times((*erf)[0], 1 / std::numbers::sqrt2);
      if (x && is_half_of(*x)) {
        return row(*x, "gelu");
      }
    }
    if (const auto* tanh = map_of(*curve, "tanh")) {
      const std::optional<Value> x = gelu_argument((*tanh)[0]);
      if (x && is_half_of(*x)) {
        return row(*x, "gelu_tanh");
      }
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Recognized> find_activation(const Value& result) {
  for (const auto& [x, gate] : commuted(result, "mul")) {
    const auto* sigmoid = map_of(gate, "sigmoid");
    if (sigmoid != nullptr && (*sigmoid)[0] == x) {
      return row(x, "silu");
    }
    if (sigmoid != nullptr && times((*sigmoid)[0], kGeluSigmoid) == x) {
      return row(x, "gelu_sigmoid");
    }
  }
  return is_float(result.dtype()) ? find_gelu(result) : std::nullopt;
}

}  // namespace tenon::passes
