// What a kernel computes and touches at sizes.
#pragma once

#include <vector>

#include "kernel/loop/loop.h"
#include "tenon/bindings.h"

namespace tenon::compiler {

/// Additions and multiplications, as far as they are of floats; a function such as exp counts as what it takes of them
/// (cost()). Products by what they are made of: those of bytes are of integers.
struct Operations {
  double f32 = 0;  // of 32 bits, or of fewer that are widened
  double f64 = 0;
  double bf16 = 0;  // products of two operands of bf16
  double i8 = 0;    // products of bytes

  double all() const { return f32 + f64 + bf16 + i8; }
  Operations& operator+=(const Operations& other);
  Operations times(double count) const;
};

struct KernelWork {
  Operations operations;
  /// By buffer, how many elements are read and written at most: as often as the loops say, and no more than there are.
  std::vector<double> reads, writes;
};

/// Of one call. What is computed where a loop may be left out (Loop::unless) does not count.
KernelWork work_at(const loops::Kernel& kernel, const Bindings& bindings);

}  // namespace tenon::compiler
