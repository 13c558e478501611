// What patterns of a graph are written with: maps by the name of their row, numbers, reductions and parameters as the
// value that they are spread over sees them.
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/node.h"
#include "tenon/ops.h"

namespace tenon::passes::match {

/// A value as a larger one sees it that it is spread over: axis i of `value` is axis places[i] of the larger one; -1
/// for an axis of size 1 that was dropped on the way. Views that repeat, or that add or drop axes of size 1, are looked
/// through.
struct Seen {
  Value value;
  std::vector<int> places;
};
Seen look(const Value& spread);

/// The operands of a map of that row; null for anything else.
const std::vector<Value>* map_of(const Value& value, std::string_view row);
/// The same, as the larger value sees them; empty for anything else.
std::vector<Seen> map_of(const Seen& seen, std::string_view row);

/// Both operands of a map that commutes, in either order; none for anything else.
template <class V>
std::vector<std::pair<V, V>> either_order(const std::vector<V>& operands) {
  if (operands.size() != 2) {
    return {};
  }
  return {{operands[0], operands[1]}, {operands[1], operands[0]}};
}
std::vector<std::pair<Value, Value>> commuted(const Value& value, std::string_view row);

/// Every element is this number, as exactly as the dtype can say it.
bool is_number(const Value& value, double number);
/// Equal but for what rounding to `dtype` may have done.
bool is_near(double a, double b, Dtype dtype);

/// A reduction of `of`, seen in place: its axes are those of `of` that are left.
struct Reduced {
  Value of;
  Axes axes;
};
std::optional<Reduced> reduced(const Seen& seen, ReduceOp op);
/// Sum divided by count; on half types also in the wide dtype and rounded, as reduce_mean() does it.
std::optional<Reduced> mean(const Seen& seen);

/// x, of square(x), x * x or pow(x, 2).
std::optional<Value> squared(const Value& value);

/// A product of numbers and values; multiplications, divisions by numbers and whole powers are taken apart, `stop` is
/// not.
struct Factors {
  double number = 1;
  std::vector<Value> values;
};
Factors factors(const Value& value, const Value& stop = {});

/// One operand, of a value of `rank`, that has exactly these `axes` there, each in full: what it is made of, to be
/// reshaped to those axes of the value.
std::optional<Value> parameter(const Value& spread, const Axes& axes);
/// `source`, found by parameter(), with exactly the axes `axes` of `shape`.
Value parameter_along(const Value& source, const Shape& shape, const Axes& axes);

}  // namespace tenon::passes::match
