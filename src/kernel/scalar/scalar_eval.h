// Evaluate scalar primitives over arrays of elements: plain loops, one instruction at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernel/scalar/scalar_program.h"

namespace tenon {

/// args[i] holds `count` elements of argument i in its compute dtype; results[i] receives result i likewise.
/// f32 functions are computed in f64 and rounded once, so this is the most exact value of each primitive.
void evaluate(const ScalarProgram& program, std::span<const std::byte* const> args, std::span<std::byte* const> results,
              int64_t count);

/// What one instruction reads and writes: `count` elements each, in compute dtypes. A cast to a half type leaves f32
/// that the half type can hold.
struct ScalarBlock {
  const std::byte* a = nullptr;
  const std::byte* b = nullptr;
  const std::byte* c = nullptr;
  std::byte* out = nullptr;
  int64_t count = 0;
};

/// One instruction (not `argument`) over one block. The registers that it names say only how many operands it has.
void evaluate(const ScalarInstruction& instruction, const ScalarBlock& block);

}  // namespace tenon
