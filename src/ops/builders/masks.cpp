// Counting, and masks as comparisons of counted positions.
#include "base/refused.h"
#include "ops/axes.h"
#include "ops/make.h"
#include "tenon/indexing.h"

namespace tenon {
namespace {

/// `x` where mask holds, which covers its last two axes, else 0.
Value keep_where(const Value& mask, const Value& x) { return select(mask, x, scalar(x.dtype(), 0)); }

Value triangle_of(const Value& x, const Extent& k) {
  if (x.rank() < 2) {
    refuse("needs two axes, not {}", x.shape().to_string());
  }
  return le(iota(shape(Dtype::i64, x.shape().axis(-2), x.shape().axis(-1)), 1),
            iota(shape(Dtype::i64, x.shape().axis(-2), x.shape().axis(-1)), 0, k));
}

}  // namespace

Value arange(const Extent& start, const Extent& stop, int64_t step, Dtype dtype) {
  if (step == 0) {
    refuse("arange: step 0 is not a step");
  }
  const Extent count = simplify(max(0, ceildiv(stop - start, step)));
  return iota(shape(dtype, Axis(count)), 0, start, step);
}

Value linspace(double start, double stop, const Extent& count, Dtype dtype) {
  if (!is_float(dtype)) {
    refuse("linspace: is for floats, not {}", name(dtype));
  }
  // A blend of both ends, so that both come out exactly; a single number is the start.
  const Value part = iota(shape(Dtype::f64, Axis(count))) / extent_value(max(1, count - 1), Dtype::f64);
  return cast((1.0 - part) * start + part * stop, dtype);
}

Value one_hot(const Value& index, const Extent& depth, Dtype dtype, double on, double off, int axis) {
  return in_context("one_hot", {index}, [&] {
    if (!is_integer(index.dtype())) {
      refuse("positions are {}, must be integers", name(index.dtype()));
    }
    // u64 positions beyond i64 wrap to negative ones far below -depth or just above it: keep them out of the count.
    const Value signed_index = cast(index.dtype() == Dtype::u64 ? min(index, scalar(Dtype::u64, 0x1p62)) : index, i64);
    const Value position = select(lt(signed_index, 0), signed_index + extent_value(depth), signed_index);
    const Value spread = expand_dims(position, {axis});
    const int normal = spread.shape().normalize_axis(axis);
    std::vector<Axis> axes = spread.shape().axes();
    axes[static_cast<size_t>(normal)] = Axis(depth);
    const Value hit = eq(spread, iota(Shape(Dtype::i64, axes), normal));
    return select(hit, scalar(dtype, on), scalar(dtype, off));
  });
}

Value eye(const Extent& rows, const Extent& columns, const Extent& k, Dtype dtype) {
  const Shape positions = shape(Dtype::i64, Axis(rows), Axis(columns));
  return cast(eq(iota(positions, 1), iota(positions, 0, k)), dtype);
}

Value triangle_mask(const Extent& rows, const Extent& columns, const Extent& k) {
  const Shape positions = shape(Dtype::i64, Axis(rows), Axis(columns));
  return le(iota(positions, 1), iota(positions, 0, k));
}

Value tril(const Value& x, const Extent& k) {
  return in_context("tril", {x}, [&] { return keep_where(triangle_of(x, k), x); });
}

Value triu(const Value& x, const Extent& k) {
  return in_context("triu", {x}, [&] { return keep_where(logical_not(triangle_of(x, k - 1)), x); });
}

std::vector<Value> meshgrid(const std::vector<Value>& values) {
  return in_context("meshgrid", values, [&] {
    std::vector<Axis> axes;
    for (const Value& value : values) {
      if (value.rank() != 1) {
        refuse("takes values of rank 1, not {}", value.shape().to_string());
      }
      axes.push_back(value.shape().axis(0));
    }
    std::vector<Value> result;
    for (size_t i = 0; i < values.size(); ++i) {
      result.push_back(broadcast(values[i], axes, {static_cast<int>(i)}));
    }
    return result;
  });
}

}  // namespace tenon
