// Softmax and its logarithm.
#include "passes/recognize/recognize.h"
#include "passes/rewriting/match.h"
#include "tenon/nn.h"

namespace tenon::passes {
namespace {

using namespace match;

/// x, of exp(x); our own composites leave denormals out of it.
const Value* exponent_of(const Value& powers) {
  const auto* exact = map_of(powers, "exp");
  const auto* of = exact != nullptr ? exact : map_of(powers, "exp_normal");
  return of != nullptr ? &of->front() : nullptr;
}

/// x and the axis, of x - max(x).
std::optional<Reduced> shifted(const Value& value) {
  const auto* difference = map_of(value, "sub");
  if (difference == nullptr) {
    return std::nullopt;
  }
  const std::optional<Reduced> largest = reduced(look((*difference)[1]), ReduceOp::max);
  const bool matches = largest && largest->axes.size() == 1 && largest->of == (*difference)[0];
  return matches ? largest : std::nullopt;
}

/// x and the axis, of exp(x - max(x)) when `sum` is its sum along that axis.
std::optional<Reduced> powers_over_sum(const Value& powers, const Seen& sum) {
  const Value* exponent = exponent_of(powers);
  const std::optional<Reduced> total = reduced(sum, ReduceOp::sum);
  const std::optional<Reduced> x = exponent != nullptr ? shifted(*exponent) : std::nullopt;
  return x && total && total->of == powers && total->axes == x->axes ? x : std::nullopt;
}

std::optional<Reduced> find_plain(const Value& result) {
  if (const auto* quotient = map_of(result, "div")) {
    return powers_over_sum((*quotient)[0], look((*quotient)[1]));
  }
  for (const auto& [powers, factor] : commuted(result, "mul")) {
    const std::vector<Seen> inverse = map_of(look(factor), "reciprocal");
    if (const auto x = inverse.empty() ? std::nullopt : powers_over_sum(powers, inverse[0])) {
      return x;
    }
  }
  return std::nullopt;
}

/// d - log(sum(exp(d))) for d = x - max(x).
std::optional<Reduced> find_logarithm(const Value& result) {
  const auto* difference = map_of(result, "sub");
  if (difference == nullptr) {
    return std::nullopt;
  }
  const Value& d = (*difference)[0];
  const std::vector<Seen> logarithm = map_of(look((*difference)[1]), "log");
  const std::optional<Reduced> sum = logarithm.empty() ? std::nullopt : reduced(logarithm[0], ReduceOp::sum);
  const Value* exponent = sum ? exponent_of(sum->of) : nullptr;
  const std::optional<Reduced> x = exponent != nullptr && *exponent == d ? shifted(d) : std::nullopt;
  return x && x->axes == sum->axes ? x : std::nullopt;
}

}  // namespace

std::optional<Recognized> find_softmax(const Value& result) {
  if (!is_float(result.dtype())) {
    return std::nullopt;
  }
  if (const auto plain = find_plain(result)) {
    return Recognized{.operands = {plain->of},
                      .build = [axis = plain->axes[0]](const std::vector<Value>& v) { return softmax(v[0], axis); }};
  }
  if (const auto logarithm = find_logarithm(result)) {
    return Recognized{.operands = {logarithm->of}, .build = [axis = logarithm->axes[0]](const std::vector<Value>& v) {
                        return log_softmax(v[0], axis);
                      }};
  }
  return std::nullopt;
}

}  // namespace tenon::passes
