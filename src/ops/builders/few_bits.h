// Products with matrices of numbers of a few bits.
#pragma once

#include <cstdint>
#include <optional>

#include "tenon/graph.h"

namespace tenon {

/// A matrix of numbers of 2, 4 or 8 bits without sign. A column is cut into blocks; each has a scale and a zero point:
/// an element is (number - zero) * scale.
struct FewBits {
  int64_t bits = 4;
  Value bytes;                 // u8[columns, blocks, bytes of a block]; of a byte's numbers the lowest bits come first
  Value scales;                // [columns, blocks]
  std::optional<Value> zeros;  // u8[columns, bytes], packed as the numbers are, or [columns, blocks] of the scales'
                               // dtype; without them half of what the bits can count
};

/// Packed numbers apart, the lowest bits first: u8[..., bytes] to u8[..., bytes * 8 / bits].
Value unpack_bits(const Value& bytes, int64_t bits);

/// The zero points as [columns, blocks], apart.
Value block_zeros(const FewBits& matrix);

/// x times the matrix: [..., depth] to [..., columns]. Behind `depth` the last block may have more numbers, which are
/// not used. The numbers stay packed in memory, in panels of columns that lie side by side, and are widened where they
/// are multiplied: as many columns at once as a vector holds, with one load for all numbers of a byte. Constants are
/// put into that order when the graph is compiled.
///   before: contract(x, reshape((cast(unpacked bytes) - zeros) * scales))
///   after:  for the numbers i of a byte: sum of contract(x[i::numbers of a byte], (cast(bits of i) - zeros) * scales)
Value product_of_few_bits(const Value& x, const FewBits& matrix);

}  // namespace tenon
