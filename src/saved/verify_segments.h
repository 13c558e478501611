// Whether a program that was read from somewhere holds together.
#pragma once

#include "runtime/run/segments.h"

namespace tenon::saved {

/// An Error that says what does not: places in lists that are not there, roles and numbers of operands that differ from
/// what kernels, routines and bodies take, steps that write what nobody may, segments that read what is not made yet.
/// What passes can be planned and specialised; what sizes say is as true as the code that goes with them, and nobody
/// checks that. Sizes that must be equal, and are not known to be, become constraints of their segment. `kernels` is
/// how many the code has.
void verify_segments(runtime::Segments& segments, size_t kernels);

}  // namespace tenon::saved
