// Products with matrices of numbers of a few bits.
#pragma once

#include <cstdint>
#include <optional>

#include "kernel/program/library_routine.h"
#include "tenon/graph.h"

namespace tenon {

/// A matrix of numbers of 2, 4 or 8 bits: integers without sign, or floats. A column is cut into blocks; each has a
/// scale, and of integers a zero point: an element is (number - zero) * scale.
struct FewBits {
  int64_t bits = 4;
  Value bytes;                 // u8[columns, blocks, bytes of a block]; of a byte's numbers the lowest bits come first
  Value scales;                // [columns, blocks]
  std::optional<Value> zeros;  // u8[columns, bytes], packed as the numbers are, or [columns, blocks] of the scales'
                               // dtype; without them half of what the bits can count
  NumberCode code = NumberCode::integer;  // of floats: there are no zeros
};

/// Packed numbers apart, the lowest bits first: u8[..., bytes] to u8[..., bytes * 8 / bits].
Value unpack_bits(const Value& bytes, int64_t bits);

/// The zero points as [columns, blocks], apart.
Value block_zeros(const FewBits& matrix);

/// Whether x is multiplied as it is.
enum class LeftOperand : uint8_t {
  exact,
  bytes,  // rounded block by block to bytes with sign, as rounded_blocks() says
};

/// x times the matrix: [..., depth] to [..., columns]. Behind `depth` the last block may have more numbers, which are
/// not used. The numbers stay packed in memory, in panels of columns that lie side by side, and are widened where they
/// are multiplied. Constants are put into that order when the graph is compiled.
///   before: contract(x, reshape((cast(unpacked bytes) - zeros) * scales))
///   after:  for the numbers i of a byte: sum of contract(x[i::numbers of a byte], (cast(bits of i) - zeros) * scales)
/// That is the body of a call where FewBitsRoutine takes such blocks: whole words of at most 256 numbers, with zero
/// points of as many bits or none.
Value product_of_few_bits(const Value& x, const FewBits& matrix, LeftOperand left = LeftOperand::exact);

/// x[..., depth] in blocks along its last axis: each element is a multiple, by -127 to 127, of a 127th of the largest
/// magnitude of its block, to nearest, ties to even. Blocks of nothing but numbers below 1e-36 are zeros.
Value rounded_blocks(const Value& x, int64_t block);

/// The routine that gives what such a body gives; nothing for any other graph.
std::optional<FewBitsRoutine> few_bits_routine(const Graph& body);

}  // namespace tenon
