#include "onnx/operators/quantised_product.h"

#include <algorithm>

#include "onnx/operators/sliding_attributes.h"
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

bool is_single(const Value& parameter) {
  return parameter.rank() == 0 || (parameter.rank() == 1 && parameter.extent(0) == Extent(1));
}
Value as_scalar(const Value& parameter) { return parameter.rank() == 0 ? parameter : reshape(parameter, {}); }

/// The scale of a weight, one or one for each element of `axis`, as a vector or a scalar; nothing for others.
std::optional<Value> weight_scale(const QuantisedSource& source, int axis) {
  if (is_single(source.scale)) {
    return as_scalar(source.scale);
  }
  const bool fits = source.scale.rank() == 1 && source.x.shape().normalize_axis(source.axis) == axis;
  return fits ? std::optional(source.scale) : std::nullopt;
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

Value integer_product(const NodeCall& call, const Value& a, const Value& a_zero, const Value& b, const Value& b_zero) {
  if (!is_byte(a) || !is_byte(b) || a.rank() < 2 || b.rank() < 2) {
    return matmul(offset(a, beside_rows(a_zero)), offset(b, b_zero));
  }
  const bool a_counts = counts(call, a_zero);
  const bool b_counts = counts(call, b_zero);
  const Value left = a_counts ? wide(beside_rows(a_zero)) : Value();
  const Value right = b_counts ? wide(b_zero) : Value();
  // Weights stay bytes: a cast of a constant would be computed once, and read as words.
  Value sums = b.rank() == 2 ? contract(a, b, {.lhs_contract = {-1}, .rhs_contract = {0}}, Dtype::i32)
                             : matmul(wide(a), wide(b));
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

/// The sizes of a kernel's position axes and what a window does on x, where all of it is known but for x's own sizes.
struct Patches {
  std::vector<int64_t> kernel, stride, dilation;
};

std::optional<Patches> patches_of(const Value& x, const Value& w, const ConvOptions& options) {
  const auto count = static_cast<size_t>(x.rank() - 2);
  Patches result{.kernel = {}, .stride = options.stride, .dilation = options.dilation};
  result.stride.resize(count, 1);
  result.dilation.resize(count, 1);
  constexpr int64_t most_places = 64;
  int64_t places = 1;
  for (int i = 2; i < w.rank(); ++i) {
    const std::optional<int64_t> size = w.extent(i).constant();
    places *= size.value_or(most_places + 1);
    if (places > most_places) {
      return {};
    }
    result.kernel.push_back(*size);
  }
  return options.groups == 1 && options.padding == "explicit" ? std::optional(result) : std::nullopt;
}

/// What is under each place of the window: [batch, channel, place, position...].
Value under_window(const Value& x, const Patches& by) {
  std::vector<Value> parts = {x};
  for (size_t axis = 0; axis < by.kernel.size(); ++axis) {
    const int position = static_cast<int>(axis) + 2;
    std::vector<Value> next;
    for (const Value& part : parts) {
      const Extent reach = part.extent(position) - (by.kernel[axis] - 1) * by.dilation[axis];
      for (int64_t k = 0; k < by.kernel[axis]; ++k) {
        next.push_back(
            slice_axis(part, position, k * by.dilation[axis], reach + k * by.dilation[axis], by.stride[axis]));
      }
    }
    parts = std::move(next);
  }
  return parts.size() == 1 ? expand_dims(parts[0], {2}) : stack(parts, 2);
}

/// The padded x convolved with w: a product of what lies under the window, in bytes.
Value conv_as_product(const Value& x, const Value& w, const Patches& by) {
  // Both are written once: else each place of the window computes x again, and each block of channels the windows.
  const bool is_one_place = std::ranges::all_of(by.kernel, [](int64_t size) { return size == 1; });
  const Value patches = is_one_place ? under_window(x, by) : barrier({under_window(barrier({x})[0], by)})[0];
  std::vector<Axis> flat = {x.shape().axis(0), Axis(x.extent(1) * patches.extent(2))};
  for (int i = 3; i < patches.rank(); ++i) {
    flat.push_back(patches.shape().axis(i));
  }
  const Value rows = reshape(w, {w.shape().axis(0), Axis(x.extent(1) * patches.extent(2))});
  const Value sums = contract(rows, reshape(patches, flat), {.lhs_contract = {1}, .rhs_contract = {1}}, Dtype::i32);
  Axes order = all_axes(sums);  // [channel, batch, position...]
  std::swap(order[0], order[1]);
  return transpose(sums, order);
}

/// Floats hold sums of so few products of bytes exactly.
bool is_exact_in_floats(const Value& w) {
  Extent terms = 1;
  for (int i = 1; i < w.rank(); ++i) {
    terms *= w.extent(i);
  }
  constexpr int64_t most_terms = (int64_t{1} << 24) / (255 * 255);
  const std::optional<int64_t> count = terms.constant();
  return count && *count <= most_terms;
}

}  // namespace

Value integer_conv(const NodeCall& call, const Value& x, const Value& x_zero, const Value& w, const Value& w_zero) {
  const Value weights = with_kernel_shape(call, w);
  ConvOptions options = conv_options(call);
  const bool x_counts = counts(call, x_zero);
  const std::optional<Array> fill = x_counts ? call.known_array(x_zero) : std::nullopt;
  const bool has_fill = !x_counts || (fill && fill->size() == 1);
  const bool are_bytes = is_byte(x) && is_byte(w);
  const std::optional<Patches> by =
      are_bytes && has_fill && !counts(call, w_zero) && x.rank() > 2 ? patches_of(x, weights, options) : std::nullopt;
  if (!by) {
    std::vector<Axis> beside(static_cast<size_t>(w.rank()), Axis(1));
    const bool each = w_zero && !is_single(w_zero);
    if (each) {
      beside[0] = w_zero.shape().axis(0);
    }
    const Value a = offset(x, x_zero);
    const Value b = offset(weights, each ? reshape(w_zero, beside) : w_zero);
    const bool in_floats = are_bytes && is_exact_in_floats(w);
    return in_floats ? cast(conv(cast(a, Dtype::f32), cast(b, Dtype::f32), options), Dtype::i32) : conv(a, b, options);
  }
  Value padded = x;
  if (!options.low.empty()) {
    std::vector<Extent> low = {0, 0};
    std::vector<Extent> high = {0, 0};
    low.insert(low.end(), options.low.begin(), options.low.end());
    high.insert(high.end(), options.high.begin(), options.high.end());
    padded = pad(x, low, high, "constant", fill ? fill->at(0) : 0);
  }
  const Value sums = conv_as_product(padded, weights, *by);
  return x_counts ? sums - along_channels(sum_beside(call, w, 0, false), sums.rank()) * wide(as_scalar(x_zero)) : sums;
}

std::optional<Value> dequantised_product(const NodeCall& call, const Item& a, const Item& b, bool swap_b) {
  if (!is_plain(a) || !is_plain(b) || !is_single(a.quantised->scale) || a.value.rank() < 2 || b.value.rank() < 2 ||
      (swap_b && b.value.rank() != 2)) {
    return {};
  }
  const QuantisedSource& left = *a.quantised;
  const QuantisedSource& right = *b.quantised;
  const std::optional<Value> scale = weight_scale(right, swap_b ? 0 : right.x.rank() - 1);
  if (!scale) {
    return {};
  }
  const Value sums = integer_product(call, left.x, left.zero ? as_scalar(left.zero) : Value(),
                                     swap_b ? transposed(right.x) : right.x, right.zero);
  return cast(sums, Dtype::f32) * (as_scalar(left.scale) * *scale);
}

std::optional<Value> dequantised_conv(const NodeCall& call, const Item& x, const Item& w) {
  if (!is_plain(x) || !is_plain(w) || !is_single(x.quantised->scale)) {
    return {};
  }
  const std::optional<Value> scale = weight_scale(*w.quantised, 0);
  if (!scale) {
    return {};
  }
  if (call.attribute("group", 1) != 1) {
    return {};  // few products for each element: bytes gain nothing
  }
  const QuantisedSource& left = *x.quantised;
  const Value sums = integer_conv(call, left.x, left.zero, w.quantised->x, w.quantised->zero);
  const Value factor = as_scalar(left.scale) * *scale;
  return cast(sums, Dtype::f32) * (factor.rank() == 0 ? factor : along_channels(factor, sums.rank()));
}

}  // namespace tenon::importer
