// Where picks and writes by position go.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "interp/index.h"
#include "ir/kinds.h"

namespace tenon {

/// For every element of the gather's result, of sizes `dims` and in row-major order, the element of x that it is.
/// A position out of range is an Error of `operation` that names position, axis and size.
std::vector<int64_t> gather_map(const Gather& op, const Index& x_dims, std::span<const Array> indices,
                                const Index& dims, std::string_view operation);

}  // namespace tenon
