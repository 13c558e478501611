// Loop kernels mapped to blocks of threads, as text, with plain loops beside them.
#pragma once

#include <string>
#include <vector>

#include "support/loop_kernels.h"

namespace tenon {

/// x * x, blocks of 64 threads, of which the last block's reach past the end.
LoopCase mapped_square_case();
/// Softmax of a row by a block: its 64 threads stride over the row and combine what they found; NaN and infinity in
/// rows of their own.
LoopCase mapped_softmax_case();
/// Tiles of 8 by 8 turned in block scratch.
LoopCase mapped_transpose_case();
/// A matrix product: tiles of both operands in block scratch, two sums of each thread in its own.
LoopCase mapped_product_case();
/// The sum of everything: what blocks sum, in a second phase by one block.
LoopCase mapped_sum_case();
/// Sums of four rows a block, each by the 16 threads of a row.
LoopCase mapped_row_sums_case();
/// The first largest element of a row, by 32 threads; with ties and a NaN.
LoopCase mapped_argmax_case();
/// Whether all and whether any of a row are true, summed up by a loop around the threads.
LoopCase mapped_logical_case();

/// Each of the above.
std::vector<LoopCase> mapped_cases();

/// One value of each thread of a block, combined: an input, an output. Parts are combined in the order that is
/// documented for Accumulator.
loops::Kernel combining_kernel(ReduceOp op, Dtype dtype, int64_t threads);
/// The same order, by hand.
template <class T, class F>
T combined_in_order(std::vector<T> parts, T none, const F& op) {
  const size_t n = parts.size();
  for (size_t apart = 1; apart < n; apart *= 2) {
    for (size_t i = 0; i + apart < n; i += 2 * apart) {
      parts[i] = op(parts[i], parts[i + apart]);
    }
  }
  return parts.empty() ? none : parts[0];
}

}  // namespace tenon
