// Kernels for machines that run blocks of threads.
#pragma once

#include "kernel/loop/loop.h"

namespace tenon::schedule {

/// The same kernel with its grids bound to blocks and its loops to threads (loops::Binding): buffers stay as they are,
/// but for the scratch of products, which is not needed, and which scratch belongs to a block. The kernel must be
/// well-formed, and its products must have no operand in panels. What is reduced is combined in an order that its sizes
/// alone decide. With `upper_bits`, products of f32 may read no more of their operands than tf32 has.
loops::Kernel map_to_blocks(const loops::Kernel& kernel, bool upper_bits = false);

}  // namespace tenon::schedule
