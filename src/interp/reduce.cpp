#include <algorithm>
#include <cmath>
#include <limits>

#include "base/convert.h"
#include "interp/evaluate.h"
#include "interp/index.h"
#include "ops/axes.h"

namespace tenon {
namespace {

/// Floats accumulate in f64 and round once at the end; integers wrap.
template <class T>
using Accumulator =
    std::conditional_t<is_float_type<T>, double, std::conditional_t<std::is_same_v<T, bool>, bool, uint64_t>>;

/// The first NaN beats everything, then the first extreme.
template <class T>
bool beats(T candidate, T best, bool maximum) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(candidate) || std::isnan(best)) {
      return std::isnan(candidate) && !std::isnan(best);
    }
  }
  return maximum ? candidate > best : candidate < best;
}

template <class T>
T worst(bool maximum) {
  if constexpr (std::is_floating_point_v<T>) {
    const T infinity = std::numeric_limits<T>::infinity();
    return maximum ? -infinity : infinity;
  } else {
    return maximum ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max();
  }
}

/// Walks the elements that one result combines.
struct Line {
  const Index& offsets;  // of the reduced elements, from the first
  int64_t first;
};

template <class T>
T reduce_sum(std::span<const T> x, const Line& line) {
  Accumulator<T> sum{};
  for (const int64_t offset : line.offsets) {
    sum += convert<Accumulator<T>>(x[static_cast<size_t>(line.first + offset)]);
  }
  return convert<T>(sum);
}

template <class T>
T reduce_product(std::span<const T> x, const Line& line) {
  Accumulator<T> product{1};
  for (const int64_t offset : line.offsets) {
    product *= convert<Accumulator<T>>(x[static_cast<size_t>(line.first + offset)]);
  }
  return convert<T>(product);
}

/// The position and value of the extreme; position -1 for no elements.
template <class T>
std::pair<int64_t, ComputeType<T>> extreme(std::span<const T> x, const Line& line, bool maximum) {
  using C = ComputeType<T>;
  int64_t position = -1;
  C best = worst<C>(maximum);
  for (size_t i = 0; i < line.offsets.size(); ++i) {
    const auto candidate = convert<C>(x[static_cast<size_t>(line.first + line.offsets[i])]);
    if (position < 0 || beats(candidate, best, maximum)) {
      best = candidate;
      position = static_cast<int64_t>(i);
    }
  }
  return {position, best};
}

bool reduce_logical(std::span<const bool> x, const Line& line, bool any) {
  for (const int64_t offset : line.offsets) {
    if (x[static_cast<size_t>(line.first + offset)] == any) {
      return any;
    }
  }
  return !any;
}

}  // namespace

Arrays evaluate(const Reduce& op, const Evaluation& e) {
  const Array& in = e.inputs[0];
  const Index strides = strides_of(in.dims());
  const std::vector<int> kept = other_axes(in.rank(), op.axes);
  const Index kept_strides = pick(strides, kept);
  const Index reduced_strides = pick(strides, op.axes);
  Index offsets;
  for_each_index(pick(in.dims(), op.axes),
                 [&](const Index& index, int64_t) { offsets.push_back(dot(index, reduced_strides)); });

  Array out = e.output();
  visit_dtype(in.dtype(), [&]<class T>() {
    const auto x = in.values<T>();
    // One result for each line, by a function of the line.
    const auto fill = [&]<class R>(std::span<R> results, auto&& combine) {
      for_each_index(out.dims(), [&](const Index& index, int64_t i) {
        results[static_cast<size_t>(i)] = combine(Line{offsets, dot(index, kept_strides)});
      });
    };
    if constexpr (std::is_same_v<T, bool>) {
      TENON_CHECK(op.op == ReduceOp::any || op.op == ReduceOp::all);
      fill(out.mutable_values<bool>(),
           [&](const Line& line) { return reduce_logical(x, line, op.op == ReduceOp::any); });
    } else {
      const bool maximum = op.op == ReduceOp::max || op.op == ReduceOp::argmax;
      switch (op.op) {
        case ReduceOp::sum: fill(out.mutable_values<T>(), [&](const Line& line) { return reduce_sum(x, line); }); break;
        case ReduceOp::product:
          fill(out.mutable_values<T>(), [&](const Line& line) { return reduce_product(x, line); });
          break;
        case ReduceOp::max:
        case ReduceOp::min:
          fill(out.mutable_values<T>(), [&](const Line& line) { return convert<T>(extreme(x, line, maximum).second); });
          break;
        case ReduceOp::argmax:
        case ReduceOp::argmin:
          fill(out.mutable_values<int64_t>(), [&](const Line& line) { return extreme(x, line, maximum).first; });
          break;
        case ReduceOp::any:
        case ReduceOp::all: TENON_CHECK(false, "any and all are for bool");
      }
    }
  });
  return {out};
}

}  // namespace tenon
