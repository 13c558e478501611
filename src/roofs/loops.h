// Loops that are bound by one resource of the machine.
#pragma once

#include <cstdint>
#include <vector>

#include "roofs/roofs.h"
#include "tenon/machine.h"

namespace tenon::roofs {

/// Multiply-adds on values in registers. `run(steps)` does `operations` additions and multiplications in each step.
struct ArithmeticLoop {
  void (*run)(int64_t steps) = nullptr;
  double operations = 0;
};

/// The fastest that this processor has for a unit; of several, all are tried. Never none.
std::vector<ArithmeticLoop> arithmetic_loops(Unit unit, const CpuMachine& machine);

inline constexpr int64_t kLineFloats = 16;  // of 64 bytes

/// Goes over `count` floats of each array so many times; `count` is a multiple of 8 * kLineFloats, arrays begin at
/// lines. `a` is written, where anything is.
struct StreamLoop {
  void (*run)(float* a, const float* b, const float* c, int64_t count, int64_t passes) = nullptr;
  int arrays = 1;            // that it touches, of a, b and c; b first where it is one
  bool past_caches = false;  // writes go to memory and leave no line in caches
};
std::vector<StreamLoop> stream_loops(const CpuMachine& machine);

}  // namespace tenon::roofs
