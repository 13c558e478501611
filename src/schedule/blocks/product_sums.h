// What the threads of a block multiply and add up of the parts of two operands in shared memory.
#pragma once

#include "kernel/loop/loop.h"
#include "schedule/blocks/product_sides.h"

namespace tenon::schedule {

/// Where a part of an operand lies in the memory of a block.
struct SharedPart {
  int buffer = -1;
  int64_t pitch = 0;
  bool steps_inside = false;  // steps of the depth lie side by side, rows or columns `pitch` apart; else vice versa

  loops::Affine place(const loops::Affine& along, const loops::Affine& step) const {
    return steps_inside ? add(scale(along, pitch), step) : add(scale(step, pitch), along);
  }
};

struct PartProduct {
  SharedPart left, right;
  const Side& rows;
  const Side& columns;
  int64_t steps = 0;
  int sums = -1;  // the buffer of a thread's sums: those of a row side by side
  Dtype sum = Dtype::f32;
};

/// Each thread adds products of all steps to its sums: first those of the part, one after the other, then these.
loops::Block add_part(loops::Kernel& kernel, const PartProduct& product);

/// The same in the form that codegen/emit/matrix_step.h finds: sides are in the order of warps, and a thread adds each
/// step to its sums. Of operands of f32 it reads the upper bits alone, as instructions on matrices do.
loops::Block add_part_by_warps(loops::Kernel& kernel, const PartProduct& product);

/// The bits of an f32 that instructions on matrices of tf32 read.
inline constexpr int32_t kMatrixWordBits = -(1 << 13);

}  // namespace tenon::schedule
