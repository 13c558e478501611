// SLEEF's vector functions over arrays: the opponent of bench/vector_math.cpp, where it is installed.
#pragma once

#include <cstdint>

#include "kernel/scalar/scalar.h"

namespace bench {

/// y is looked at by functions of two operands alone; count is a multiple of 16.
using ArrayFunction = void(const float* x, const float* y, float* result, int64_t count);

/// SLEEF's function of 1.0 ulp, in the widest vectors of this machine. Null where SLEEF or that function is not there.
ArrayFunction* sleef_function(tenon::Prim prim);

}  // namespace bench
