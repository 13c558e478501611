// Two views that are one.
#pragma once

#include <optional>
#include <vector>

#include "ir/kinds.h"

namespace tenon::passes {

/// `view` of `x` with one view fewer: nothing where it changes nothing, one view where x is a view that it joins, a
/// reshape where it only moves or adds axes of size 1. Nothing when the view must stay, which it also must where a
/// check of it or of x, to be made when sizes are known, would be lost.
///   transpose(transpose(x, [1, 0]), [1, 0])  is  x
///   broadcast(reshape(x, [n, 1]), [n, m])    is  broadcast(x, [n, m], axes=[0])
std::optional<Value> merged_view(const View& view, const Value& x);

/// Where a reshape that only adds or drops axes of size 1 puts each axis: its position in `to`, -1 for a dropped one.
/// Nothing for any other reshape.
std::optional<std::vector<int>> kept_axes(const Shape& from, const std::vector<Axis>& to);

}  // namespace tenon::passes
