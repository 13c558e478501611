// Convolutions of 3x3 with stride 1 in the form F(2x2, 3x3) of Winograd and Lavin, inside of one kernel.
//
// Four results y that are neighbours, 2 by 2, come from a square d of 4x4 pixels and 3x3 weights g:
//   y = A^T ((G g G^T) . (B^T d B)) A          with . element by element, summed over channels
//          1 0 -1  0                1    0   0
//   B^T =  0 1  1  0         G  =  1/2  1/2 1/2        A^T = 1 1  1  0
//          0 -1 1  0               1/2 -1/2 1/2              0 1 -1 -1
//          0 1  0 -1                0    0   1
// So each of the 16 elements is a product of matrices [squares, channels] x [channels, results], where the convolution
// has 36 multiplications for the same results. Weights are transformed and laid out once. A block of squares at a time,
// pixels are transformed into scratch, 16 products leave their sums in scratch, and what is made of them is stored.
//
//   for each block of squares, for each block of results:
//     for each block of channels:
//       for each square, for each channel:   V[0..16) = B^T d B
//       for each part of 16:                 M[part] += V[part] * U[part]
//     for each square, for each result:      4 stores of what follows A^T M A, where the image has that many
//
// Blocks of results transform the same pixels again, so channels and results are whole where they leave room for enough
// squares: winograd_blocks.h. Where products add up in order, blocks of channels change no bits.
//
// An infinite pixel is subtracted from itself on the way: what it touches, and other results of its squares, is NaN.
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
