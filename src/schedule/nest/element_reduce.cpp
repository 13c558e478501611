// Reductions, sliding windows, products and convolutions: loops with an accumulator.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>

#include "base/fail.h"
#include "ops/axes.h"
#include "schedule/nest/element.h"

namespace tenon::schedule {
namespace {

/// What combines with anything to that.
double identity(ReduceOp op, Dtype dtype) {
  switch (op) {
    case ReduceOp::sum: return 0;
    case ReduceOp::product: return 1;
    case ReduceOp::max:
      return is_float(dtype) ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::lowest();
    case ReduceOp::min:
      return is_float(dtype) ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::max();
    default: TENON_CHECK(false, "{} has no identity", name(op));
  }
}

}  // namespace

int ElementEmitter::reduce(ReduceOp op, Dtype dtype, int input, int position, const std::vector<int>& axes) {
  AxisSet loops = 0;
  for (const int axis : axes) {
    loops |= axis_bit(axis);
  }
  // What the input does not depend on need not be looped over.
  const AxisSet level = (values_.axes(input) | (position < 0 ? 0 : values_.axes(position))) & ~loops;
  const loops::Accumulator accumulator{.op = op, .dtype = dtype, .input = input, .position = position};
  for (const DraftReduction& before : draft_.reductions) {
    if (before.axes == loops && kernel_.accumulators[static_cast<size_t>(before.accumulator)] == accumulator) {
      return before.result;
    }
  }
  const int id = static_cast<int>(kernel_.accumulators.size());
  kernel_.accumulators.push_back(accumulator);
  const int result = values_.result(id, is_arg(op) ? Dtype::i64 : dtype, level);
  draft_.reductions.push_back({.accumulator = id, .result = result, .axes = loops, .level = level});
  return result;
}

int ElementEmitter::element(const Reduce& op, const Value& value, const Point& point, const Mask& places) {
  const Value& x = value.node().inputs[0];
  // A bound on axes that the point does not have holds for all of the reduction or for none of it: it is then computed
  // in any case, once, and not again at each of the places.
  const AxisSet here = axes_of_point(point);
  Mask mask;
  std::ranges::copy_if(places, std::back_inserter(mask), [&](const loops::Bound& bound) {
    const AxisSet axes = axes_of(bound.index);
    return axes == 0 || (axes & here) != 0;
  });
  Point at(static_cast<size_t>(x.rank()));
  size_t next = 0;
  for (const int axis : other_axes(x.rank(), op.axes)) {
    at[static_cast<size_t>(axis)] = point[next++];
  }
  AxisSet taken = axes_of_point(point) | values_.axes(mask);
  std::vector<int> loops;
  for (const int axis : op.axes) {
    const Cover& cover = axes_.cover(x, axis, taken);
    taken |= cover.set;
    loops.insert(loops.end(), cover.axes.begin(), cover.axes.end());
    at[static_cast<size_t>(axis)] = {.affine = cover.affine, .dynamic = {}};
  }
  const int input = emit(x, at, mask);
  const Dtype dtype = compute_dtype(x.dtype());
  const int position = is_arg(op.op) ? values_.position(at[static_cast<size_t>(op.axes[0])].affine) : -1;
  if (loops.empty() && !is_arg(op.op)) {
    return input;  // one element
  }
  if (loops.empty()) {
    return values_.constant(Dtype::i64, 0);
  }
  return values_.cast(reduce(op.op, dtype, input, position, loops), value.dtype());
}

Position ElementEmitter::slide(const Position& out, const Position& offset, int64_t stride, int64_t dilation,
                               const Extent& low, const Extent& size, const Extent& out_size, const Extent& span,
                               Mask& inside) {
  Position at = moved(sum(scaled(out, stride), scaled(offset, dilation)), -low);
  const bool fits = low == Extent(0) && proves_at_least(size, (out_size - 1) * stride + span);
  if (!fits) {
    inside.push_back({.index = at.affine, .size = size});
  }
  return at;
}

int ElementEmitter::element(const Window& op, const Value& value, const Point& point, const Mask& mask) {
  const Value& x = value.node().inputs[0];
  Point at(point.size());
  Mask bounds;
  std::vector<int> loops;
  AxisSet taken = axes_of_point(point) | values_.axes(mask);
  for (size_t i = 0; i < at.size(); ++i) {
    if (!point[i].dynamic.empty()) {
      throw Refusal{"a window is read at computed positions", value};
    }
    Position offset;
    if (op.size[i] != 1) {
      // A loop of its own: it runs over the window, which is no axis of any value.
      const Cover& cover = axes_.cover(Extent(op.size[i]), taken);
      taken |= cover.set;
      loops.insert(loops.end(), cover.axes.begin(), cover.axes.end());
      offset.affine = cover.affine;
    }
    const Extent span = Extent((op.size[i] - 1) * op.dilation[i] + 1);
    at[i] = slide(point[i], offset, op.stride[i], op.dilation[i], op.low[i], x.extent(static_cast<int>(i)),
                  value.extent(static_cast<int>(i)), span, bounds);
  }
  Mask inside = mask;
  inside.insert(inside.end(), bounds.begin(), bounds.end());
  const Dtype dtype = compute_dtype(x.dtype());
  int input = emit(x, at, inside);
  if (const int condition = values_.condition(bounds); condition >= 0) {
    input = values_.select(condition, input, values_.constant(dtype, identity(op.op, dtype)));
  }
  const int result = loops.empty() ? input : reduce(op.op, dtype, input, -1, loops);
  return values_.cast(result, value.dtype());
}

namespace {

/// Padding around a product would be computed like the rest of it, only to be thrown away.
void require_everywhere(const Value& product, const Mask& mask) {
  if (!mask.empty()) {
    throw Refusal{fmt::format("{} is needed in some places only", op_name(product.node().op)), {}};
  }
}

/// Weights that lie in rows only when it runs, and so are not laid out for their product.
bool come_with_the_run(const StorageOrders& storage, const Value& weights) {
  const Node& node = weights.node();
  return !node.as<Constant>() && !as_view(node.op) && !storage.of(weights);
}

/// Over which axes of its weights the sum of a convolution runs, outermost first: as pixels lie, so that patches are
/// copied by runs of channels. But weights that come with the run are then copied element by element, for each tile of
/// pixels, where in their own order they are a matrix as they lie: that is dearer if they are many or pixels few.
std::vector<int> order_of_sum(const StorageOrders& storage, const Value& conv) {
  constexpr int64_t kManyWeights = 64 * 1024;
  constexpr int64_t kFewPixels = 16;
  const Value& x = conv.node().inputs[0];
  const Value& w = conv.node().inputs[1];
  std::vector<int> order(static_cast<size_t>(w.rank()));
  std::iota(order.begin(), order.end(), 0);
  if (const std::vector<int>* pixels = storage.of(x)) {
    const auto weights = w.shape().element_count().constant();
    const auto results = conv.shape().element_count().constant();
    const auto channels = w.extent(0).constant();
    const bool is_costly =
        !weights || *weights >= kManyWeights || (results && channels && *results <= *channels * kFewPixels);
    order = come_with_the_run(storage, w) && is_costly ? order : *pixels;
  }
  std::erase(order, 0);
  return order;
}

}  // namespace

int ElementEmitter::element(const Contract& op, const Value& value, const Point& point, const Mask& mask) {
  require_everywhere(value, mask);
  const Value& lhs = value.node().inputs[0];
  const Value& rhs = value.node().inputs[1];
  Point left(static_cast<size_t>(lhs.rank()));
  Point right(static_cast<size_t>(rhs.rank()));
  size_t next = 0;
  for (size_t k = 0; k < op.lhs_batch.size(); ++k, ++next) {
    left[static_cast<size_t>(op.lhs_batch[k])] = point[next];
    right[static_cast<size_t>(op.rhs_batch[k])] = point[next];
  }
  for (const int axis : other_axes(lhs.rank(), op.lhs_batch, op.lhs_contract)) {
    left[static_cast<size_t>(axis)] = point[next++];
  }
  for (const int axis : other_axes(rhs.rank(), op.rhs_batch, op.rhs_contract)) {
    right[static_cast<size_t>(axis)] = point[next++];
  }
  AxisSet taken = axes_of_point(point) | values_.axes(mask);
  std::vector<int> loops;
  for (size_t k = 0; k < op.lhs_contract.size(); ++k) {
    const Cover& cover = axes_.cover(lhs, op.lhs_contract[k], taken);
    taken |= cover.set;
    loops.insert(loops.end(), cover.axes.begin(), cover.axes.end());
    left[static_cast<size_t>(op.lhs_contract[k])] = {.affine = cover.affine, .dynamic = {}};
    right[static_cast<size_t>(op.rhs_contract[k])] = {.affine = cover.affine, .dynamic = {}};
  }
  const Dtype dtype = compute_dtype(op.dtype);
  const int a = values_.cast(emit(lhs, left, mask), dtype);
  const int b = values_.cast(emit(rhs, right, mask), dtype);
  const int product = values_.compute(Prim::mul, dtype, {a, b});
  return values_.cast(loops.empty() ? product : reduce(ReduceOp::sum, dtype, product, -1, loops), value.dtype());
}

int ElementEmitter::element(const Conv& op, const Value& value, const Point& point, const Mask& mask) {
  require_everywhere(value, mask);
  const Value& x = value.node().inputs[0];
  const Value& w = value.node().inputs[1];
  if (std::ranges::any_of(op.x_dilation, [](int64_t d) { return d != 1; })) {
    throw Refusal{"a convolution with spread input has no loop form", {}};
  }
  Point at(point.size());
  Point weight(point.size());
  at[0] = point[0];
  weight[0] = point[1];
  AxisSet taken = axes_of_point(point) | values_.axes(mask);
  std::vector<int> loops;
  const auto loop_over = [&](int axis) {
    const Cover& cover = axes_.cover(w, axis, taken);
    taken |= cover.set;
    loops.insert(loops.end(), cover.axes.begin(), cover.axes.end());
    return Position{.affine = cover.affine, .dynamic = {}};
  };
  for (const int axis : order_of_sum(storage_, value)) {
    weight[static_cast<size_t>(axis)] = loop_over(axis);
  }
  at[1] = weight[1];
  if (op.groups > 1) {
    // The group of an output channel: the outer part of its loop.
    const Cover* channel = axes_.find(point[1].affine);
    const auto outputs = divide_exactly(w.extent(0), op.groups);
    if (!channel || !outputs) {
      throw Refusal{"the channels of a grouped convolution are not one loop", value};
    }
    size_t end = channel->axes.size();
    split_digits(value, channel->axes, *outputs, end);
    loops::Affine group;
    for (size_t k = 0; k < end; ++k) {
      group =
          add(scale(group, kernel_.axes[static_cast<size_t>(channel->axes[k])].extent), affine_axis(channel->axes[k]));
    }
    at[1].affine = add(scale(group, w.extent(1)), at[1].affine);
  }
  Mask bounds;
  for (size_t i = 0; i < op.stride.size(); ++i) {
    const int axis = static_cast<int>(i) + 2;
    if (!point[i + 2].dynamic.empty()) {
      throw Refusal{"a convolution is read at computed positions", value};
    }
    const Extent span = (w.extent(axis) - 1) * op.w_dilation[i] + 1;
    at[i + 2] = slide(point[i + 2], weight[i + 2], op.stride[i], op.w_dilation[i], op.low[i], x.extent(axis),
                      value.extent(axis), span, bounds);
  }
  Mask inside = mask;
  inside.insert(inside.end(), bounds.begin(), bounds.end());
  const Dtype dtype = compute_dtype(value.dtype());
  int element = emit(x, at, inside);
  const loops::Value& of_x = kernel_.values[static_cast<size_t>(element)];
  const auto* load = std::get_if<loops::Load>(&of_x.what);
  if (!bounds.empty() && !(load && !load->inside.empty())) {
    const int padding = values_.constant(compute_dtype(of_x.dtype), 0);
    element = values_.select(values_.condition(bounds), element, padding);
  }
  const int a = values_.cast(element, dtype);
  const int b = values_.cast(emit(w, weight, mask), dtype);
  const int product = values_.compute(Prim::mul, dtype, {a, b});
  return values_.cast(loops.empty() ? product : reduce(ReduceOp::sum, dtype, product, -1, loops), value.dtype());
}

}  // namespace tenon::schedule
