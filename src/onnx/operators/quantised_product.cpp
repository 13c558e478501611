#include "onnx/operators/quantised_product.h"

#include <algorithm>

#include "ir/node.h"
#include "onnx/operators/quantised.h"
#include "onnx/operators/sliding_attributes.h"
#include "ops/axes.h"
#include "tenon/convolution.h"
#include "tenon/indexing.h"

namespace tenon::importer {
namespace {

bool is_byte(const Value& x) { return x.dtype() == Dtype::i8 || x.dtype() == Dtype::u8; }

/// Whether it is there, and not known to be 0.
bool counts(const NodeCall& call, const Value& zero) {
  const std::optional<Array> known = zero ? call.known_array(zero) : std::nullopt;
  if (!known) {
    return static_cast<bool>(zero);
  }
  for (int64_t i = 0; i < known->size(); ++i) {
    if (known->at(i) != 0) {
      return true;
    }
  }
  return false;
}

Value wide(const Value& x) { return cast(x, Dtype::i32); }

/// The sum of i32 over all axes but `kept`, which stays where it is. Of a constant it is computed now: in a kernel it
/// would stand beside the product.
Value sum_beside(const NodeCall& call, const Value& x, int kept, bool keep_axes) {
  Axes axes;
  for (int i = 0; i < x.rank(); ++i) {
    if (i != kept) {
      axes.push_back(i);
    }
  }
  const std::optional<Array> known = call.known_array(x);
  if (!known) {
    return reduce_sum(wide(x), axes, keep_axes);
  }
  int64_t inner = 1;
  for (int i = kept + 1; i < x.rank(); ++i) {
    inner *= known->dims()[static_cast<size_t>(i)];
  }
  const int64_t size = known->dims()[static_cast<size_t>(kept)];
  std::vector<int32_t> sums(static_cast<size_t>(size), 0);
  const Array numbers = known->cast(Dtype::i32);
  const auto values = numbers.values<int32_t>();
  for (int64_t i = 0; i < numbers.size(); ++i) {
    sums[static_cast<size_t>(i / inner % size)] += values[static_cast<size_t>(i)];
  }
  std::vector<int64_t> dims(keep_axes ? static_cast<size_t>(x.rank()) : 1, 1);
  dims[keep_axes ? static_cast<size_t>(kept) : 0] = size;
  return constant(Array::from<int32_t>(dims, sums));
}

Value as_scalar(const Value& parameter) { return parameter.rank() == 0 ? parameter : reshape(parameter, {}); }

/// A scale or zero point of a weight, one or one for each element of `axis`, as a scalar or a vector; nothing for
/// others. One with all axes of the weight says itself where it lies.
std::optional<Value> weight_parameter(const QuantisedSource& source, const Value& parameter, int axis) {
  if (is_single(parameter)) {
    return as_scalar(parameter);
  }
  const std::optional<Value> vector = as_vector(parameter);
  if (!vector) {
    return {};
  }
  const bool is_placed = parameter.rank() > 1 && parameter.rank() == source.x.rank();
  const bool fits =
      is_placed ? parameter.extent(axis) != Extent(1) : source.x.shape().normalize_axis(source.axis) == axis;
  return fits ? vector : std::nullopt;
}

/// Both of them; no zero point is an empty Value.
struct WeightParameters {
  Value scale, zero;
};
std::optional<WeightParameters> weight_parameters(const QuantisedSource& source, int axis) {
  const std::optional<Value> scale = weight_parameter(source, source.scale, axis);
  const std::optional<Value> zero =
      source.zero ? weight_parameter(source, source.zero, axis) : std::optional<Value>(Value());
  return scale && zero ? std::optional(WeightParameters{*scale, *zero}) : std::nullopt;
}

bool is_plain(const Item& item) {
  return item.quantised && is_byte(item.quantised->x) && item.quantised->scale.dtype() == Dtype::f32;
}

Value transposed(const Value& x) { return transpose(x, {1, 0}); }

}  // namespace

Value offset(const Value& x, const Value& zero) { return zero ? wide(x) - wide(zero) : wide(x); }

Value beside_rows(const Value& parameter) {
  return parameter && parameter.rank() == 1 ? expand_dims(parameter, {1}) : parameter;
}

namespace {

/// matmul in i32. Operands stay bytes: a cast of a constant would be computed once, and read as words.
Value product_of_bytes(const Value& a, const Value& b) {
  if (b.rank() == 2) {
    return contract(a, b, {.lhs_contract = {-1}, .rhs_contract = {0}}, Dtype::i32);
  }
  const auto leading = [](const Value& x) {
    return std::vector<Axis>(x.shape().axes().begin(), x.shape().axes().end() - 2);
  };
  const std::vector<Axis> batch = broadcast_lists({leading(a), leading(b)});
  const auto repeated = [&](const Value& x) {
    std::vector<Axis> to = batch;
    to.insert(to.end(), x.shape().axes().end() - 2, x.shape().axes().end());
    return broadcast_to(x, to);
  };
  const Axes each = other_axes(static_cast<int>(batch.size()), {});
  return contract(repeated(a), repeated(b),
                  {.lhs_batch = each, .rhs_batch = each, .lhs_contract = {-1}, .rhs_contract = {-2}}, Dtype::i32);
}

}  // namespace

Value integer_product(const NodeCall& call, const Value& a, const Value& a_zero, const Value& b, const Value& b_zero) {
  if (!is_byte(a) || !is_byte(b) || a.rank() < 2 || b.rank() < 2) {
    return matmul(offset(a, beside_rows(a_zero)), offset(b, b_zero));
  }
  const bool a_counts = counts(call, a_zero);
  const bool b_counts = counts(call, b_zero);
  const Value left = a_counts ? wide(beside_rows(a_zero)) : Value();
  const Value right = b_counts ? wide(b_zero) : Value();
  Value sums = product_of_bytes(a, b);
  if (a_counts) {
    Value of_columns = b.rank() == 2 ? sum_beside(call, b, 1, true) : reduce_sum(wide(b), {-2}, true);
    if (b_counts) {  // the part that both zero points add comes off once
      of_columns = of_columns - right * extent_value(b.extent(-2), Dtype::i32);
    }
    sums = sums - left * of_columns;
  }
  return b_counts ? sums - reduce_sum(wide(a), {-1}, true) * right : sums;
}

namespace {

/// Padding of x in a convolution, for all axes of it.
struct Padding {
  std::vector<Extent> low = {0, 0}, high = {0, 0};

  bool is_none() const {
    const auto is_zero = [](const Extent& extent) { return extent == Extent(0); };
    return std::ranges::all_of(low, is_zero) && std::ranges::all_of(high, is_zero);
  }
};

/// x with its zero point around it, which need not be known before the run.
Value padded_with(const NodeCall& call, const Value& x, const Value& zero, const Padding& by) {
  if (const std::optional<Array> fill = call.known_array(zero); fill && fill->size() == 1) {
    return pad(x, by.low, by.high, "constant", fill->at(0));
  }
  std::vector<Axis> positions = x.shape().axes();
  positions[0] = positions[1] = Axis(1);
  const Value inside = pad(broadcast_to(scalar(Dtype::u8, 1), positions), by.low, by.high, "constant", 0);
  return select(ne(inside, scalar(Dtype::u8, 0)), pad(x, by.low, by.high, "constant", 0), as_scalar(zero));
}

}  // namespace

Value integer_conv(const NodeCall& call, const Value& x, const Value& x_zero, const Value& w, const Value& w_zero) {
  const Value weights = with_kernel_shape(call, w);
  ConvOptions options = conv_options(call);
  const bool x_counts = counts(call, x_zero);
  const bool w_counts = counts(call, w_zero);
  const bool each = w_counts && !is_single(w_zero);
  if (!is_byte(x) || !is_byte(w) || x.rank() < 3 || (w_counts && options.groups != 1) ||
      (x_counts && !is_single(x_zero))) {
    std::vector<Axis> beside(static_cast<size_t>(w.rank()), Axis(1));
    if (each) {
      beside[0] = w_zero.shape().axis(0);
    }
    return conv(offset(x, x_zero), offset(weights, each ? reshape(w_zero, beside) : w_zero), options);
  }
  options.dtype = Dtype::i32;
  Value sums = conv(x, weights, options);
  Value padded = x;
  if (x_counts) {
    Padding by;
    const Conv& as_made = *sums.node().as<Conv>();
    by.low.insert(by.low.end(), as_made.low.begin(), as_made.low.end());
    by.high.insert(by.high.end(), as_made.high.begin(), as_made.high.end());
    if (!by.is_none()) {
      padded = padded_with(call, x, x_zero, by);
      options.low = options.high = {};
      options.padding = "valid";
      sums = conv(padded, weights, options);
    }
    Value of_channels = sum_beside(call, weights, 0, false);
    if (w_counts) {  // the part that both zero points add comes off once
      Extent terms = 1;
      for (int i = 1; i < w.rank(); ++i) {
        terms *= weights.extent(i);
      }
      of_channels = of_channels - wide(w_zero) * extent_value(terms, Dtype::i32);
    }
    sums = sums - along_channels(of_channels, sums.rank()) * wide(as_scalar(x_zero));
  }
  if (w_counts) {
    std::vector<Axis> one = weights.shape().axes();
    one[0] = Axis(1);
    const Value under_window = conv(padded, broadcast_to(scalar(Dtype::i8, 1), one), options);
    const Value zero = wide(each ? along_channels(w_zero, sums.rank()) : as_scalar(w_zero));
    sums = sums - under_window * zero;
  }
  return sums;
}

std::optional<Value> dequantised_product(const NodeCall& call, const Item& a, const Item& b, bool swap_b) {
  if (!is_plain(a) || !is_plain(b) || !is_single(a.quantised->scale) || a.value.rank() < 2 || b.value.rank() < 2 ||
      (swap_b && b.value.rank() != 2)) {
    return {};
  }
  const QuantisedSource& left = *a.quantised;
  const QuantisedSource& right = *b.quantised;
  const std::optional<WeightParameters> by = weight_parameters(right, swap_b ? 0 : right.x.rank() - 1);
  if (!by) {
    return {};
  }
  const Value sums = integer_product(call, left.x, left.zero ? as_scalar(left.zero) : Value(),
                                     swap_b ? transposed(right.x) : right.x, by->zero);
  return cast(sums, Dtype::f32) * (as_scalar(left.scale) * by->scale);
}

std::optional<Value> dequantised_conv(const NodeCall& call, const Item& x, const Item& w) {
  if (!is_plain(x) || !is_plain(w) || !is_single(x.quantised->scale)) {
    return {};
  }
  const std::optional<WeightParameters> by = weight_parameters(*w.quantised, 0);
  if (!by) {
    return {};
  }
  const QuantisedSource& left = *x.quantised;
  const Value sums = integer_conv(call, left.x, left.zero, w.quantised->x, by->zero);
  const Value factor = as_scalar(left.scale) * by->scale;
  return cast(sums, Dtype::f32) * (factor.rank() == 0 ? factor : along_channels(factor, sums.rank()));
}

namespace {

/// Other integers `x` that mean the same as those of the source, which has one scale.
Item dequantised(QuantisedSource source, const Value& x) {
  source.x = x;
  Item result(cast(offset(x, source.zero ? as_scalar(source.zero) : Value()), Dtype::f32) * as_scalar(source.scale));
  result.quantised = std::make_shared<const QuantisedSource>(std::move(source));
  return result;
}

}  // namespace

bool is_quantised_by(const NodeCall& call, const Item& item, const Value& scale, const Value& zero) {
  if (!is_plain(item) || !zero || !item.quantised->zero || item.quantised->x.dtype() != zero.dtype() ||
      !is_single(scale) || !is_single(item.quantised->scale)) {
    return false;
  }
  const auto same = [&](const Value& a, const Value& b) {
    const std::optional<Array> known_a = call.known_array(a);
    const std::optional<Array> known_b = call.known_array(b);
    return known_a && known_b && known_a->dtype() == known_b->dtype() && known_a->at(0) == known_b->at(0);
  };
  if (!same(scale, item.quantised->scale) || !same(zero, item.quantised->zero)) {
    return false;
  }
  const double step = call.known_array(scale)->at(0);  // products with it must be neither denormal nor infinite
  return step > 1e-30 && step < 1e30;
}

std::optional<Item> of_integers(const NodeCall& call, const Item& item, const std::function<Value(const Value&)>& f) {
  if (!is_plain(item) || !is_single(item.quantised->scale)) {
    return {};
  }
  QuantisedSource source = *item.quantised;
  const std::optional<Array> scale = call.known_array(source.scale);
  if (!scale || !(scale->at(0) > 0)) {
    return {};
  }
  return dequantised(source, f(source.x));
}

Importing on_integers(Importing moves) {
  return [moves = std::move(moves)](const NodeCall& call) -> Results {
    if (!is_plain(call.item(0)) || !is_single(call.item(0).quantised->scale)) {
      return moves(call);
    }
    const QuantisedSource source = *call.item(0).quantised;
    Results results = moves(call.with_operand(0, Item(source.x)));
    for (Item& item : results.items) {
      item = dequantised(source, item.value);
    }
    return results;
  };
}

}  // namespace tenon::importer
