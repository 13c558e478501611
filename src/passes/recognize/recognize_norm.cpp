// Layer normalisation and its form without a mean.
#include "passes/recognize/recognize.h"
#include "passes/rewriting/match.h"
#include "passes/rewriting/uniform.h"
#include "tenon/nn.h"

namespace tenon::passes {
namespace {

using namespace match;

/// x, of sqrt(x) or pow(x, 1/2).
std::optional<Seen> root(const Seen& seen) {
  if (const auto of = map_of(seen, "sqrt"); !of.empty()) {
    return of[0];
  }
  const auto of = map_of(seen, "pow");
  return !of.empty() && is_number(of[1].value, 0.5) ? std::optional(of[0]) : std::nullopt;
}

/// x, of rsqrt(x), 1 / sqrt(x) or pow(x, -1/2).
std::optional<Seen> inverse_root(const Seen& seen) {
  if (const auto of = map_of(seen, "rsqrt"); !of.empty()) {
    return of[0];
  }
  if (const auto of = map_of(seen, "reciprocal"); !of.empty()) {
    return root(of[0]);
  }
  if (const auto of = map_of(seen, "div"); !of.empty() && is_number(of[0].value, 1)) {
    return root(of[1]);
  }
  const auto of = map_of(seen, "pow");
  return !of.empty() && is_number(of[1].value, -0.5) ? std::optional(of[0]) : std::nullopt;
}

/// x over the root of (the mean of its squares, and a bit).
struct Normal {
  Value x;
  Axes axes;
  double epsilon = 0;
};

std::optional<Normal> normal(const Value& x, const std::optional<Seen>& under_root) {
  if (!under_root) {
    return std::nullopt;
  }
  for (const auto& [square, bit] : either_order(map_of(*under_root, "add"))) {
    const std::optional<double> epsilon = uniform_number(bit.value);
    const std::optional<Reduced> squares = mean(square);
    if (epsilon && squares && squared(squares->of) == x) {
      return Normal{.x = x, .axes = squares->axes, .epsilon = *epsilon};
    }
  }
  return std::nullopt;
}

std::optional<Normal> normal(const Value& value) {
  if (const auto* quotient = map_of(value, "div")) {
    return normal((*quotient)[0], root(look((*quotient)[1])));
  }
  for (const auto& [x, factor] : commuted(value, "mul")) {
    if (const auto found = normal(x, inverse_root(look(factor)))) {
      return found;
    }
  }
  return std::nullopt;
}

/// What a norm is made of before somebody asks which norm it is.
struct Scaled {
  Normal normal;
  Value scale = {};
  Value bias = {};
};

std::optional<Scaled> scaled(const Value& value) {
  if (const auto plain = normal(value)) {
    return Scaled{.normal = *plain};
  }
  for (const auto& [inner, factor] : commuted(value, "mul")) {
    const auto plain = normal(inner);
    const auto scale = plain ? parameter(factor, plain->axes) : std::nullopt;
    if (scale) {
      return Scaled{.normal = *plain, .scale = *scale};
    }
  }
  return std::nullopt;
}

std::optional<Scaled> scaled_and_shifted(const Value& value) {
  for (const auto& [inner, addend] : commuted(value, "add")) {
    auto found = scaled(inner);
    const auto bias = found ? parameter(addend, found->normal.axes) : std::nullopt;
    if (bias) {
      found->bias = *bias;
      return found;
    }
  }
  return scaled(value);
}

/// x, of x - mean(x) over these axes.
std::optional<Value> centred(const Value& value, const Axes& axes) {
  const auto* difference = map_of(value, "sub");
  const std::optional<Reduced> found = difference != nullptr ? mean(look((*difference)[1])) : std::nullopt;
  return found && found->axes == axes && found->of == (*difference)[0] ? std::optional((*difference)[0]) : std::nullopt;
}

Recognized found_norm(const Scaled& parts, const Value& x, bool centres) {
  Recognized found{.operands = {x}, .build = {}};
  for (const Value& each : {parts.scale, parts.bias}) {
    if (each) {
      found.operands.push_back(each);
    }
  }
  found.build = [centres, axes = parts.normal.axes, epsilon = parts.normal.epsilon,
                 has_scale = static_cast<bool>(parts.scale),
                 has_bias = static_cast<bool>(parts.bias)](const std::vector<Value>& v) {
    const auto along = [&](bool there, size_t i) {
      return there ? parameter_along(v[i], v[0].shape(), axes) : Value();
    };
    const Value scale = along(has_scale, 1);
    return centres ? layer_norm(v[0], scale, along(has_bias, has_scale ? 2 : 1), axes, epsilon)
                   : rms_norm(v[0], scale, axes, epsilon);
  };
  return found;
}

}  // namespace

std::optional<Recognized> find_norm(const Value& result) {
  const std::optional<Scaled> parts = is_float(result.dtype()) ? scaled_and_shifted(result) : std::nullopt;
  if (!parts) {
    return std::nullopt;
  }
  if (const auto x = centred(parts->normal.x, parts->normal.axes)) {
    return found_norm(*parts, *x, true);
  }
  // A bias after it is not part of an rms_norm; that is found without it.
  return parts->bias ? std::nullopt : std::optional(found_norm(*parts, parts->normal.x, false));
}

}  // namespace tenon::passes
