// Views as lists of source positions: what reads and what writes through them is then the same loop.
#pragma once

#include <vector>

#include "interp/index.h"
#include "ir/kinds.h"

namespace tenon {

/// For every element of the view, in row-major order, the element of the operand it is; -1 for a fill value.
std::vector<int64_t> view_map(const View& view, const Index& from, const Index& to, const Bindings& bindings);

/// The array that has element map[i] of `x` at i; `fill` (of x's dtype) where the map says -1.
Array gather_elements(const Array& x, const std::vector<int64_t>& map, const Index& dims, const Array& fill);

Array transposed(const Array& x, const std::vector<int>& axes);

}  // namespace tenon
