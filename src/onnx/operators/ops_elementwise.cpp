// Elementwise operators that are more than one row of the scalar table.
#include <limits>
#include <map>

#include "base/refused.h"
#include "onnx/import/few_bits_source.h"
#include "onnx/import/float_bits.h"
#include "onnx/import/narrow_float.h"
#include "onnx/import/registry.h"
#include "onnx/tensor_data.h"
#include "ops/axes.h"

namespace tenon::importer {
namespace {

/// Before opset 7, `broadcast` and `axis` said where the axes of b lie among those of a.
Value legacy_aligned(const NodeCall& call, const Value& a, const Value& b) {
  if (!call.flag("broadcast") || b.rank() == 0) {
    return b;
  }
  const int axis = call.has_attribute("axis") ? a.shape().normalize_axis(call.axis("axis", 0)) : a.rank() - b.rank();
  Axes missing;
  for (int i = axis + b.rank(); i < a.rank(); ++i) {
    missing.push_back(i - axis);
  }
  return missing.empty() ? b : expand_dims(b, missing);
}

Importing legacy(std::string_view row) {
  return [row](const NodeCall& call) -> Results {
    return map(row, {call.x(0), legacy_aligned(call, call.x(0), call.x(1))});
  };
}

Results power(const NodeCall& call) {
  const Value& base = call.x(0);
  const Value exponent = call.version() < 7 ? legacy_aligned(call, base, call.x(1)) : call.x(1);
  if (!is_float(base.dtype()) && is_float(exponent.dtype())) {
    // In f64, so that whole results of small numbers are whole.
    return cast(pow(cast(base, Dtype::f64), cast(exponent, Dtype::f64)), base.dtype());
  }
  return pow(base, cast(exponent, base.dtype()));
}

Importing fold(std::string_view row) {
  return [row](const NodeCall& call) -> Results {
    Value result = call.x(0);
    for (size_t i = 1; i < call.count(); ++i) {
      result = map(row, {result, call.x(i)});
    }
    return result;
  };
}

Results mean(const NodeCall& call) {
  const Value sum = fold("add")(call).items[0].value;
  return sum / static_cast<double>(call.count());
}

Results clip_attributes(const NodeCall& call) {
  Value x = call.x(0);
  if (call.has_attribute("min")) {
    x = max(x, call.number_attribute("min", 0));
  }
  return call.has_attribute("max") ? min(x, call.number_attribute("max", 0)) : x;
}

Results clip(const NodeCall& call) {
  Value x = call.x(0);
  if (call.has(1)) {
    x = max(x, call.x(1));
  }
  return call.has(2) ? min(x, call.x(2)) : x;
}

Dtype dtype_by_name(const std::string& name) {
  for (int type = 0; type <= proto::TensorProto::BFLOAT16; ++type) {
    if (onnx_type_name(type) == name) {
      return to_dtype(type);
    }
  }
  refuse("there is no element type `{}`", name);
}

Results cast_by_name(const NodeCall& call) { return cast(call.x(0), dtype_by_name(call.text_attribute("to", ""))); }

/// Of integers of a few bits, the lowest are kept.
Item cast_item(const Item& from, Dtype dtype, Format to, bool saturate) {
  const Value x = is_narrow_float(from.format) ? decoded(from.value, from.format) : from.value;
  if (to == Format::plain) {
    return cast(x, dtype);
  }
  if (is_narrow_float(to)) {
    return {encoded(x, to, saturate), to};
  }
  const int range = 1 << bits_of(to);
  const Value low = bit_and(cast(x, Dtype::i32), range - 1);
  return {cast(dtype == Dtype::i8 ? select(ge(low, range / 2), low - range, low) : low, dtype), to};
}

Results cast_to(const NodeCall& call) {
  call.attribute("to");
  call.x(0);
  const Format to = call.format_attribute("to");
  Item result = cast_item(call.item(0), call.dtype_attribute("to", Dtype::f32), to, call.flag("saturate", true));
  if (to == Format::plain && is_float(result.value.dtype())) {
    result.few_bits = few_bits_source_of_cast(call);
  }
  return result;
}

Results cast_like(const NodeCall& call) {
  call.x(0);
  return cast_item(call.item(0), call.x(1).dtype(), call.item(1).format, call.flag("saturate", true));
}

/// The same bits as another type of as many.
Results bit_cast(const NodeCall& call) {
  const Value& x = call.x(0);
  call.attribute("to");
  const Dtype to = call.dtype_attribute("to", Dtype::f32);
  if (byte_size(to) != byte_size(x.dtype()) || call.format_attribute("to") != call.item(0).format) {
    refuse("{} and {} have not as many bits", name(x.dtype()), name(to));
  }
  const Value integers = is_float(x.dtype()) && to != x.dtype() ? bits_of(x) : x;
  if (is_float(to) && to != x.dtype()) {
    return from_bits(integers, to);
  }
  return to == Dtype::boolean ? ne(integers, 0) : cast(integers, to);
}

/// A row whose last operands are attributes.
struct Parameter {
  std::string_view attribute;
  double otherwise = 0;
};
Importing with_parameters(std::string_view row, std::vector<Parameter> parameters) {
  return [row, parameters = std::move(parameters)](const NodeCall& call) -> Results {
    std::vector<Operand> operands = {call.x(0)};
    for (const Parameter& parameter : parameters) {
      operands.emplace_back(call.number_attribute(parameter.attribute, parameter.otherwise));
    }
    return map(row, operands);
  };
}

Results selu(const NodeCall& call) {
  if (!call.has_attribute("alpha") && !call.has_attribute("gamma")) {
    return tenon::selu(call.x(0));
  }
  const double alpha = call.number_attribute("alpha", 1.67326319217681884765625);
  return elu(call.x(0), alpha) * call.number_attribute("gamma", 1.05070102214813232421875);
}

Results gelu(const NodeCall& call) {
  return call.text_attribute("approximate", "none") == "tanh" ? gelu_tanh(call.x(0)) : tenon::gelu(call.x(0));
}

Results prelu(const NodeCall& call) {
  const Value& x = call.x(0);
  Value slope = call.x(1);
  if (call.version() < 7 && slope.rank() == 1 && x.rank() > 2 && slope.extent(0) != Extent(1)) {
    Axes behind;
    for (int i = 2; i < x.rank(); ++i) {
      behind.push_back(i - 1);
    }
    slope = expand_dims(slope, behind);  // one for each channel
  }
  if (!is_float(x.dtype())) {
    return select(lt(x, 0), x * slope, x);
  }
  return leaky_relu(x, slope);
}

Results where(const NodeCall& call) { return select(call.x(0), call.x(1), call.x(2)); }

Results bit_shift(const NodeCall& call) {
  const std::string direction = call.text_attribute("direction", "");
  if (direction != "LEFT" && direction != "RIGHT") {
    refuse("direction is `{}`, must be LEFT or RIGHT", direction);
  }
  return map(direction == "LEFT" ? "shl" : "shr", {call.x(0), call.x(1)});
}

/// Of one size by another, a size: the row asks for signs, which are seldom known.
std::optional<Value> modulo_of_sizes(const NodeCall& call) {
  const Value& x = call.x(0);
  if (!is_integer(x.dtype()) || x.shape().element_count() != Extent(1)) {
    return {};
  }
  const std::optional<std::vector<Extent>> size = call.known_extents(x);
  const std::optional<std::vector<Extent>> by = call.known_extents(call.x(1));
  if (!size || !by || by->size() != 1 || size->front().is_constant() || !proves_at_least(by->front(), 0) ||
      by->front() == Extent(0)) {
    return {};
  }
  const Value remainder = extent_value(mod(size->front(), by->front()), x.dtype());
  return reshape(remainder, broadcast_lists({x.shape().axes(), call.x(1).shape().axes()}));
}

Results modulo(const NodeCall& call) {
  if (call.flag("fmod")) {
    return map("rem", {call.x(0), call.x(1)});
  }
  const std::optional<Value> of_sizes = modulo_of_sizes(call);
  return of_sizes ? *of_sizes : map("mod", {call.x(0), call.x(1)});
}

Value swish_of(const NodeCall& call, const Value& x) {
  const double alpha = call.number_attribute("alpha", 1);
  return alpha == 1 ? silu(x) : x * sigmoid(x * alpha);
}
Results swish(const NodeCall& call) { return swish_of(call, call.x(0)); }
Results swish_gate(const NodeCall& call) { return swish_of(call, call.x(0)) * call.x(1); }

Results is_infinite(const NodeCall& call) {
  const Value& x = call.x(0);
  const bool negative = call.flag("detect_negative", true);
  const bool positive = call.flag("detect_positive", true);
  if (negative && positive) {
    return isinf(x);
  }
  if (!negative && !positive) {
    return logical_and(isinf(x), logical_not(isinf(x)));
  }
  return logical_and(isinf(x), positive ? gt(x, 0) : lt(x, 0));
}

Results scaled_tanh(const NodeCall& call) {
  return tanh(call.x(0) * call.number_attribute("beta", 1)) * call.number_attribute("alpha", 1);
}

Results parametric_softplus(const NodeCall& call) {
  return softplus(call.x(0) * call.number_attribute("beta", 1)) * call.number_attribute("alpha", 1);
}

Results affine(const NodeCall& call) {
  return call.x(0) * call.number_attribute("alpha", 1) + call.number_attribute("beta", 0);
}

Results identity(const NodeCall& call) { return call.item(0); }

}  // namespace

std::vector<OperatorEntry> elementwise_operators() {
  return {
      {"", "Add", 1, legacy("add")},
      {"", "Sub", 1, legacy("sub")},
      {"", "Mul", 1, legacy("mul")},
      {"", "Div", 1, legacy("div")},
      {"", "And", 1, legacy("logical_and")},
      {"", "Or", 1, legacy("logical_or")},
      {"", "Xor", 1, legacy("logical_xor")},
      {"", "Greater", 1, legacy("gt")},
      {"", "Less", 1, legacy("lt")},
      {"", "Equal", 1, legacy("eq")},
      {"", "Pow", 1, power},
      {"", "Pow", 7, power},
      {"", "Max", 1, fold("max")},
      {"", "Max", 8, fold("max")},
      {"", "Min", 1, fold("min")},
      {"", "Min", 8, fold("min")},
      {"", "Sum", 1, fold("add")},
      {"", "Mean", 1, mean},
      {"", "Clip", 1, clip_attributes},
      {"", "Clip", 11, clip},
      {"", "Cast", 1, cast_by_name, ElementUse::any},
      {"", "Cast", 6, cast_to, ElementUse::any},
      {"", "CastLike", 15, cast_like, ElementUse::any},
      {"", "BitCast", 26, bit_cast, ElementUse::any},
      {"", "LeakyRelu", 1, with_parameters("leaky_relu", {{"alpha", 0.01}})},
      {"", "Elu", 1, with_parameters("elu", {{"alpha", 1}})},
      {"", "Celu", 12, with_parameters("celu", {{"alpha", 1}})},
      {"", "ThresholdedRelu", 1, with_parameters("thresholded_relu", {{"alpha", 1}})},
      {"", "HardSigmoid", 1, with_parameters("hard_sigmoid", {{"alpha", 0.2}, {"beta", 0.5}})},
      {"", "Shrink", 9, with_parameters("shrink", {{"lambd", 0.5}, {"bias", 0}})},
      {"", "Selu", 1, selu},
      {"", "Gelu", 20, gelu},
      {"", "PRelu", 1, prelu},
      {"", "PRelu", 9, prelu},
      {"", "Where", 9, where, ElementUse::moved},
      {"", "BitShift", 11, bit_shift},
      {"", "Mod", 10, modulo},
      {"", "Swish", 24, swish},
      {"", "SwiGLU", 28, swish_gate},
      {"", "IsInf", 10, is_infinite},
      {"", "ScaledTanh", 1, scaled_tanh},
      {"", "ParametricSoftplus", 1, parametric_softplus},
      {"", "Affine", 1, affine},
      {"", "Identity", 1, identity, ElementUse::any},
  };
}

}  // namespace tenon::importer
