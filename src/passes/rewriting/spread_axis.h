// Room between the elements of an axis.
#pragma once

#include "tenon/graph.h"

namespace tenon::passes {

/// `axis` with spread - 1 elements that are `fill` behind each of its elements.
Value spread_axis(const Value& x, int axis, int64_t spread, double fill = 0);

}  // namespace tenon::passes
