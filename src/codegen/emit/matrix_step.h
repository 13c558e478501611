// Loops that the instructions on matrices of GPUs stand for.
#pragma once

#include <optional>
#include <vector>

#include "kernel/loop/loop.h"

namespace tenon::codegen {

/// A loop over the depth of a product, in a nest of loops bound to threads whose two innermost count the 8 groups of
/// a warp and the 4 threads of a group, which adds to sums that each thread keeps
///   sums[i, j] += left[i, step] * right[step, j]
/// where thread t of group g has rows g, g + 8, g + 16 ... of its warp and columns 2 t, 2 t + 1, 2 t + 8 ...: elements
/// of a half type that the block shares, or the upper bits of f32.
struct MatrixStep {
  struct Operand {
    int buffer = -1;
    Dtype dtype = Dtype::f32;
    std::vector<loops::Affine> first;  // of each row or column that a thread has: at step 0
    int64_t step = 0;                  // elements from one step to the next
    int64_t along = 0;                 // from one row or column to the next
  };
  Operand left, right;
  int sums = -1;  // a buffer: those of a row side by side
  int64_t steps = 0;
};

/// Of steps and of what the threads of a warp have, in elements: 16 by 8 by 16 for half types, 16 by 8 by 8 for f32.
int64_t steps_together(Dtype dtype);

/// `groups` and `threads`: the axes of the two innermost loops bound to threads around `loop`.
std::optional<MatrixStep> matrix_step(const loops::Kernel& kernel, const loops::Loop& loop, int groups, int threads);

}  // namespace tenon::codegen
