// Convolutions of 3x3 with stride 1 in the forms F(2x2, 3x3) and F(4x4, 3x3) of winograd_form.h, inside of one kernel.
//
// Squares of m x m results come from squares d of n x n pixels, n = m + 2, and 3x3 weights g:
//   y = A^T ((G g G^T) . (B^T d B)) A          with . element by element, summed over channels
// So each of the n x n elements is a product of matrices [squares, channels] x [channels, results], 16 or 36
// multiplications where the convolution has 36 or 144 for the same results. Weights are transformed and laid out once.
// A block of squares at a time, pixels are transformed into scratch, n x n products leave their sums in scratch, and
// what is made of them is stored.
//
//   for each block of squares, for each block of results:
//     for each block of channels:
//       for each square:
//         for each column of it, for each channel:   T[0..n)[column] = B^T d
//         for each row of it, for each channel:      V[row][0..n) = T[row] B
//       for each part of n x n:                      M[part] += V[part] * U[part]
//     for each square:
//       for each column of it, for each result:      T[0..m)[column] = A^T M
//       for each row of m, for each result:          m stores of what follows T[row] A, where the image has that many
//
// Blocks of results transform the same pixels again, so channels and results are whole where they leave room for enough
// squares: winograd_blocks.h. Where products add up in order, blocks of channels change no bits.
//
// An infinite pixel is subtracted from itself on the way: what it touches, and other results of its squares, is NaN. So
// squares with such a pixel are found by their sums and computed once more, as the convolution has them
// (winograd_exception.cpp).
#pragma once

#include <optional>
#include <vector>

#include "schedule/products/products.h"

namespace tenon::schedule {

/// The form, where all that a kernel does is one such convolution over images whose channels lie side by side and what
/// is made of its results, element by element. Nothing otherwise, and the draft stays as it is.
std::optional<TiledProducts> tile_winograd(Draft& draft, const std::vector<size_t>& stores,
                                           const ConstantOperands& constants, const std::vector<ProductMatch>& products,
                                           const ScheduleOptions& options);

}  // namespace tenon::schedule
