// Arrays whose axes lie in another order.
#pragma once

#include <vector>

#include "tenon/array.h"

namespace tenon::layouts {

/// The elements of `x` as they lie in memory under this order of its axes.
Array in_storage_order(const Array& x, const std::vector<int>& order);

}  // namespace tenon::layouts
