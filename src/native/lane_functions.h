// Primitives that emitted code does not compute itself, as functions over a few lanes in memory: the mathematics of
// f64, remainders, powers of integers, and sine and cosine of huge arguments.
#pragma once

#include <span>
#include <string_view>

#include "kernel/scalar/scalar.h"

namespace tenon::codegen {

/// `void (T* x, int64_t count)` or `void (T* x, const T* y, int64_t count)`; the results take the place of x. The
/// values are those of kernel/scalar/scalar_eval.h.
struct LaneFunction {
  Prim prim = Prim::exp;
  Dtype dtype = Dtype::f64;
  std::string_view symbol;
  void* address = nullptr;
};

std::span<const LaneFunction> lane_functions();

/// The function of a primitive, by its symbol; a primitive that has none is our own mistake.
std::string_view lane_symbol(Prim prim, Dtype dtype);

}  // namespace tenon::codegen
