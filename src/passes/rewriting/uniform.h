// Values whose elements are plainly all the same number, and values under another shape's labels.
#pragma once

#include <optional>

#include "tenon/graph.h"

namespace tenon::passes {

/// The rank-0 constant that every element of `value` is: seen through views that only repeat or rearrange, and in
/// constants whose elements have the same bits. Nothing for a constant without elements.
std::optional<Value> uniform_constant(const Value& value);

/// The same as a number; 64-bit integers beyond 2^53 round.
std::optional<double> uniform_number(const Value& value);

/// `value` with exactly the axes of `shape`, labels included, by a reshape where labels differ. Nothing when the dtype
/// differs or an extent is not plainly the same.
std::optional<Value> relabelled(const Value& value, const Shape& shape);

}  // namespace tenon::passes
