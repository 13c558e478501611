// Text to loop kernels: what to_string() writes, read back.
#pragma once

#include <string_view>

#include "kernel/loop/loop.h"

namespace tenon::loops {

/// The kernel whose to_string() is `text`, to the space; an Error with line and column where it is none. Whether the
/// kernel is well-formed, verify() says.
///
/// What the text does not say is inferred: dtypes of values come from buffers, constants and casts; products work in
/// the one scratch of u8 that nothing else uses. Values that no statement defines are lost, and numbers in between are
/// constants 0. `i0.i1` in a product is the axis of that name before it is two axes. Names of axes are words as in
/// extents, [A-Za-z_][A-Za-z0-9_.]*, and none of them is the name of a size too.
Kernel parse_kernel(std::string_view text);

}  // namespace tenon::loops
