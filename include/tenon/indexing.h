// Builders that pick, write, order, count and arrange by position. All take symbolic sizes; masks are comparisons of
// counted positions, never stored tables. Negative axis numbers count from the end.
#pragma once

#include <string_view>
#include <vector>

#include "tenon/ops.h"

namespace tenon {

// --- Picking. Positions are integers; negative ones count from the end, and one out of range is an Error when run.

/// x at `index` along `axis`, position by position: the result has the shape of index. Along the other axes index may
/// be shorter than x and then picks from the first elements (ONNX GatherElements, NumPy take_along_axis).
Value take_along_axis(const Value& x, const Value& index, int axis);
/// The last axis of `indices`, whose size k is static, holds positions along k axes of x, those behind `batch_dims`
/// leading axes that both share. The result has the axes of indices but the last, then the other axes of x.
Value gather_nd(const Value& x, const Value& indices, int batch_dims = 0);
/// Elements x[..., i, i + offset, ...] of two axes; the diagonal is the last axis of the result.
Value diagonal(const Value& x, int axis1 = 0, int axis2 = 1, int64_t offset = 0);

// --- Writing: x with updates at positions. `op` is set, add, mul, max or min; updates of one place apply in row-major
// order, so the last `set` wins.

/// `update` has the shape that gather(x, indices, axes) would have.
Value scatter(const Value& x, const Value& update, const std::vector<Value>& indices, const GatherAxes& axes,
              std::string_view op = "set");
/// The opposite of take_along_axis: `update` has the shape of index (ONNX ScatterElements).
Value scatter_along_axis(const Value& x, const Value& index, const Value& update, int axis,
                         std::string_view op = "set");
/// The opposite of gather_nd.
Value scatter_nd(const Value& x, const Value& indices, const Value& update, std::string_view op = "set",
                 int batch_dims = 0);

// --- Ordering. Stable; NaN is the largest of all: last in ascending order, first in descending.

Value sort(const Value& x, int axis = -1, bool descending = false);
/// All of the values, ordered along `axis` as the first one is.
std::vector<Value> sort_together(const std::vector<Value>& values, int axis = -1, bool descending = false);
/// The i64 positions that sort() takes its elements from.
Value argsort(const Value& x, int axis = -1, bool descending = false);

struct TopK {
  Value values;
  Value indices;  // i64
};
/// The k largest, or smallest, along an axis, best first; of equal ones those that come first. The axis must have k.
TopK top_k(const Value& x, const Extent& k, int axis = -1, bool largest = true);

// --- Running along an axis. `exclusive` leaves the element itself out, `reverse` runs from the end. With nothing to
// combine a sum is 0, a product 1, a maximum the lowest value of the dtype (-inf) and a minimum the highest.

Value cumulative_sum(const Value& x, int axis = -1, bool exclusive = false, bool reverse = false);
Value cumulative_product(const Value& x, int axis = -1, bool exclusive = false, bool reverse = false);
Value cumulative_max(const Value& x, int axis = -1, bool exclusive = false, bool reverse = false);
Value cumulative_min(const Value& x, int axis = -1, bool exclusive = false, bool reverse = false);

// --- Counting and masks

/// start, start + step, ... before stop.
Value arange(const Extent& start, const Extent& stop, int64_t step = 1, Dtype dtype = i64);
/// `count` numbers from start to stop, both included exactly.
Value linspace(double start, double stop, const Extent& count, Dtype dtype = f32);
/// `on` where a new axis of `depth` elements, at `axis` of the result, counts to the index, else `off`. Negative
/// positions count from the end; one out of range gives `off` everywhere.
Value one_hot(const Value& index, const Extent& depth, Dtype dtype = f32, double on = 1, double off = 0, int axis = -1);
/// 1 at [i, i + k], else 0.
Value eye(const Extent& rows, const Extent& columns, const Extent& k = 0, Dtype dtype = f32);
/// bool[rows, columns], true at [i, j] for j <= i + k: the causal mask of a query block that begins behind k keys.
Value triangle_mask(const Extent& rows, const Extent& columns, const Extent& k = 0);
/// The last two axes of x with zeros above (tril) or below (triu) the diagonal j == i + k.
Value tril(const Value& x, const Extent& k = 0);
Value triu(const Value& x, const Extent& k = 0);
/// Value i, of rank 1, along axis i of one common shape.
std::vector<Value> meshgrid(const std::vector<Value>& values);

// --- Arranging

/// Parts of these sizes, which add up to the axis.
std::vector<Value> split(const Value& x, int axis, const std::vector<Extent>& sizes);
/// `parts` parts of one size; the axis must be a multiple.
std::vector<Value> split_evenly(const Value& x, int axis, int64_t parts);
/// Values of one shape along a new axis of the result.
Value stack(const std::vector<Value>& values, int axis = 0);
/// The elements of an axis of static size, without that axis.
std::vector<Value> unstack(const Value& x, int axis = 0);
/// x repeated as a whole, repeats[i] times along axis i.
Value tile(const Value& x, const std::vector<Extent>& repeats);
/// Each element `times` times along an axis.
Value repeat_interleave(const Value& x, const Extent& times, int axis);
/// Element i along the axis moves to (i + shift) mod size.
Value roll(const Value& x, const Extent& shift, int axis);

}  // namespace tenon
