// Builders: one function for each operation. All are pure; the same operation on the same operands is the same node.
// Negative axis numbers count from the end. Elementwise functions (add, relu, exp, ...) are in tenon/elementwise.h,
// which this header includes.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/array.h"
#include "tenon/elementwise.h"
#include "tenon/graph.h"
#include "tenon/operand.h"

namespace tenon {

// --- Leaves

Value constant(Array value);
/// A rank-0 constant.
Value scalar(Dtype dtype, double value);
/// A value of every element `number`, of any shape.
Value full(const Shape& shape, double number);
/// The extent as a rank-0 value: how sizes enter arithmetic.
Value extent_value(const Extent& extent, Dtype dtype = i64);
/// start + step * (index along `axis`).
Value iota(const Shape& shape, int axis = 0, const Extent& start = 0, const Extent& step = 1);

// --- Elementwise: the functions of tenon/elementwise.h, operators, and

Value cast(const Value& x, Dtype dtype);
inline Value operator+(const Operand& a, const Operand& b) { return add(a, b); }
inline Value operator-(const Operand& a, const Operand& b) { return sub(a, b); }
inline Value operator*(const Operand& a, const Operand& b) { return mul(a, b); }
inline Value operator/(const Operand& a, const Operand& b) { return div(a, b); }
inline Value operator-(const Value& a) { return neg(a); }
inline Value operator<(const Operand& a, const Operand& b) { return lt(a, b); }
inline Value operator<=(const Operand& a, const Operand& b) { return le(a, b); }
inline Value operator>(const Operand& a, const Operand& b) { return gt(a, b); }
inline Value operator>=(const Operand& a, const Operand& b) { return ge(a, b); }

// --- Reductions; no axes means all of them. `keep` leaves axes of size 1.

using Axes = std::vector<int>;
Value reduce_sum(const Value& x, const Axes& axes = {}, bool keep = false);
Value reduce_product(const Value& x, const Axes& axes = {}, bool keep = false);
Value reduce_max(const Value& x, const Axes& axes = {}, bool keep = false);
Value reduce_min(const Value& x, const Axes& axes = {}, bool keep = false);
Value reduce_any(const Value& x, const Axes& axes = {}, bool keep = false);
Value reduce_all(const Value& x, const Axes& axes = {}, bool keep = false);
/// The sum divided by the number of elements; NaN for none.
Value reduce_mean(const Value& x, const Axes& axes = {}, bool keep = false);
/// i64 positions along one axis, or, without one, among all elements in row-major order; the first of equals, NaN
/// counting as the extreme. The axis must not be empty.
Value argmax(const Value& x, std::optional<int> axis = {}, bool keep = false);
Value argmin(const Value& x, std::optional<int> axis = {}, bool keep = false);

// --- Products

struct ContractAxes {
  Axes lhs_batch = {}, rhs_batch = {};        // paired
  Axes lhs_contract = {}, rhs_contract = {};  // paired
};
/// Sum of products over the contracted axes; the result has batch axes, free axes of lhs, free axes of rhs.
/// `dtype` is that of the result where it differs from the operands' (i8 products in i32).
Value contract(const Value& lhs, const Value& rhs, const ContractAxes& axes, std::optional<Dtype> dtype = {});
/// As NumPy's: the last axis of a with the last but one of b; leading axes broadcast.
Value matmul(const Value& a, const Value& b);

// --- Views

/// The same elements under other axes. One `-1` takes what is left.
Value reshape(const Value& x, const std::vector<Axis>& to);
/// Axis i of the result is axis axes[i] of x; no axes reverses them.
Value transpose(const Value& x, const Axes& axes = {});
/// NumPy broadcasting to the axes `to`, aligned at the last.
Value broadcast_to(const Value& x, const std::vector<Axis>& to);
/// Operand axis i lands on axis axes[i] of `to`.
Value broadcast(const Value& x, const std::vector<Axis>& to, const Axes& axes);
/// Elements start, start + step, ... of each axis, size of them.
Value slice(const Value& x, const std::vector<Extent>& start, const std::vector<Extent>& size,
            const std::vector<int64_t>& step = {});
/// x[begin:end:step] along one axis as in Python: negative constants count from the end, ends are clamped, a negative
/// step walks backwards.
Value slice_axis(const Value& x, int axis, const Extent& begin, std::optional<Extent> end = {}, int64_t step = 1);
/// `low` and `high` elements around each axis; a negative constant crops.
Value pad(const Value& x, const std::vector<Extent>& low, const std::vector<Extent>& high,
          std::string_view mode = "constant", double fill = 0);
Value flip(const Value& x, const Axes& axes);
/// Axes of size 1 at these positions of the result.
Value expand_dims(const Value& x, const Axes& axes);
/// Without these axes of size 1.
Value squeeze(const Value& x, const Axes& axes);

// --- Joining, picking, writing

Value concat(const std::vector<Value>& values, int axis);
/// x at `index` along `axis`: the axes of index take the place of that axis.
Value take(const Value& x, const Value& index, int axis = 0);
struct GatherAxes {
  Axes axes;                            // of x, one for each index operand
  Axes x_batch = {}, index_batch = {};  // paired
};
/// x at positions along several axes; the result has batch axes, other axes of the indices, other axes of x.
Value gather(const Value& x, const std::vector<Value>& indices, const GatherAxes& axes);
/// `base` with the part x[start : start + value's size] replaced by `value`.
Value update_slice(const Value& base, const Value& value, const std::vector<Extent>& start);

// --- Structure

/// A call of `body`: a composite of that name. A body is made for the symbolic shapes of its operands: they must be
/// those of its inputs, names included.
std::vector<Value> call(const Graph& body, const std::vector<Value>& operands);
/// A composite: `build` gets stand-ins for the operands and makes the body.
Value composite(std::string name, const std::vector<Value>& operands,
                const std::function<Value(const std::vector<Value>&)>& build);
/// A composite with several results.
std::vector<Value> composites(std::string name, const std::vector<Value>& operands,
                              const std::function<std::vector<Output>(const std::vector<Value>&)>& build);
/// The identity that nothing merges with or moves across.
std::vector<Value> barrier(const std::vector<Value>& values);

}  // namespace tenon
