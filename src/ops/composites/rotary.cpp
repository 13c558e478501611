// Rotary position embedding.
#include <cmath>

#include "base/refused.h"
#include "ops/axes.h"
#include "ops/composites/composite.h"
#include "ops/needed_by.h"
#include "tenon/nn.h"

namespace tenon {
namespace {

/// base^(-2i / depth) for each pair. In f64 first: a position of 1e5 multiplies its relative error.
Value frequencies(const Extent& depth, const Extent& pairs, double base, Dtype dtype) {
  const Value exponent = iota(Shape(Dtype::f64, {Axis(pairs)}), 0, 0, 2) / extent_value(depth, Dtype::f64);
  return cast(exp(exponent * -std::log(base)), dtype);
}

/// Positions as [..., seq, 1], with axes of size 1 for those axes of x that `positions` does not have.
Value angles(const Value& x, const Value& positions, const RotaryOptions& options, const Value& frequency) {
  const Dtype dtype = frequency.dtype();
  if (!positions) {
    return iota(Shape(dtype, {x.shape().axis(-2), Axis(1)}), 0, options.offset) * frequency;
  }
  if (!is_integer(positions.dtype())) {
    refuse("`positions` are {}, must be integers", name(positions.dtype()));
  }
  if (positions.rank() < 1 || positions.rank() > x.rank() - 1) {
    refuse("`positions` has rank {}, must be [seq] or have leading axes of `x` before it", positions.rank());
  }
  std::vector<Constraint> unused;
  match_axes(x, x.rank() - 2, positions, positions.rank() - 1, unused);
  Axes missing;
  for (int i = positions.rank() - 1; i < x.rank() - 2; ++i) {
    missing.push_back(i);
  }
  missing.push_back(x.rank() - 1);
  return expand_dims(cast(positions, dtype), missing) * frequency;
}

/// Turn all of x, whose last axis is of pairs.
Value turn(const Value& x, const Value& positions, const RotaryOptions& options) {
  const Extent& depth = x.extent(-1);
  if (depth.is_constant() && *depth.constant() % 2 != 0) {
    refuse("the last axis of `x` is {}, which makes no pairs", x.shape().axis(-1).to_string());
  }
  const Extent pairs = divide_exactly(depth, 2).value_or(floordiv(depth, 2));
  // [..., pair, 2] or [..., 2, pair]: elements of a pair lie along an axis of their own.
  const int of_pair = options.interleaved ? -1 : -2;
  std::vector<Axis> split(x.shape().axes().begin(), x.shape().axes().end() - 1);
  split.emplace_back(options.interleaved ? pairs : Extent(2));
  split.emplace_back(options.interleaved ? Extent(2) : pairs);
  const Value wide = reshape(widen(x), split);
  const auto element = [&](int64_t i) { return squeeze(slice_axis(wide, of_pair, i, i + 1), {of_pair}); };
  const Value first = element(0);
  const Value second = element(1);

  const Value angle = angles(x, positions, options, frequencies(depth, pairs, options.base, wide.dtype()));
  const Value c = cos(angle);
  const Value s = sin(angle);
  const int axis = wide.rank() + of_pair;
  const Value turned =
      concat({expand_dims(first * c - second * s, {axis}), expand_dims(second * c + first * s, {axis})}, axis);
  return cast(reshape(turned, x.shape().axes()), x.dtype());
}

}  // namespace

Value rotary(const Value& x, const RotaryOptions& options) {
  const NeededBy needed("rotary");
  return composite_of("rotary", {{"x", x}, {"positions", options.positions}}, [&](const Parts& in) -> Value {
    require_float(in[0], "x");
    if (x.rank() < 2) {
      refuse("`x` has rank {}, must be [..., seq, depth]", x.rank());
    }
    const Extent& depth = x.extent(-1);
    if (options.depth == 0 || depth == Extent(options.depth)) {
      return turn(in[0], in[1], options);
    }
    const Value turned = turn(slice_axis(in[0], -1, 0, options.depth), in[1], options);
    return concat({turned, slice_axis(in[0], -1, options.depth)}, -1);
  });
}

}  // namespace tenon
