// The plainest kernel there is: a scalar program over contiguous arrays. For tests and benchmarks of scalar code; the
// kernels of programs are made elsewhere.
#pragma once

#include <cstdint>

#include "codegen/jit/jit.h"
#include "kernel/scalar/scalar_program.h"

namespace tenon::codegen {

/// args[i] holds `count` elements of argument i as they are in memory, results[i] receives result i likewise. `count`
/// must be a multiple of the loop's lanes.
using ScalarLoop = void(const void* const* args, void* const* results, int64_t count);

struct ScalarLoopOptions {
  unsigned lanes = 0;  // 0: one element at a time, without vectors
  MathOptions math = {};
};

/// What Jit::compile() makes a ScalarLoop of, named "scalar_loop".
Jit::Request scalar_loop(const ScalarProgram& program, ScalarLoopOptions options);

}  // namespace tenon::codegen
