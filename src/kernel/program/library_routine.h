// All that library/ runs: the routines that kinds of nodes are, and those that calls are computed by.
#pragma once

#include <cstdint>
#include <variant>

#include "kernel/program/number_code.h"
#include "kernel/program/routine.h"

namespace tenon {

/// Reads x[..., depth] of f32 and a matrix of numbers of a few bits, whose columns are cut into blocks; writes
/// [..., columns] of f32, the sum over blocks of scale times the sum of x * (number - zero) over the block.
///   words   u8[panels, blocks, words of a block, kPanel, 4]: a word has the next 32 / bits numbers of a column, the
///           lowest bits first. Numbers behind `depth`, and columns behind those of the result, may be anything.
///   scales  f32[panels, blocks, kPanel]
///   zeros   u8[panels, blocks, kPanel], or no such operand: half of what the bits can count
struct FewBitsRoutine {
  static constexpr int64_t kPanel = 32;
  static constexpr int64_t kMostBlock = 256;  // numbers: sums of their bytes stay within 32 bits

  int64_t bits = 4;  // 2, 4 or 8; of floats those of their code
  /// Each block of x is rounded to bytes with sign, its largest magnitude to 127, and sums over blocks are of integers.
  bool rounds = false;
  /// Floats have no zero points, and x is not rounded.
  NumberCode code = NumberCode::integer;

  friend bool operator==(const FewBitsRoutine&, const FewBitsRoutine&) = default;
};

using LibraryRoutine = std::variant<SortRoutine, ScanRoutine, ScatterRoutine, PositionsRoutine, FewBitsRoutine>;

}  // namespace tenon
