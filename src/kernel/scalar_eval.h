// Evaluate a scalar program over arrays of elements: plain loops, one instruction at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernel/scalar_program.h"

namespace tenon {

/// args[i] holds `count` elements of argument i in its compute dtype; results[i] receives result i likewise.
/// f32 functions are computed in f64 and rounded once, so this is the most exact value of each primitive.
void evaluate(const ScalarProgram& program, std::span<const std::byte* const> args, std::span<std::byte* const> results,
              int64_t count);

}  // namespace tenon
