// Phases whose iterations keep something for later loops, such as a row or a tile.
#pragma once

#include "kernel/loop/loop.h"
#include "schedule/blocks/split_product.h"

namespace tenon::schedule {

/// What a block is to be.
struct BlockForm {
  int64_t most_threads = 0;  // where there are no products
  DepthPart part = {};       // of the depth of its product
  bool is_flat = false;      // loops inside of each other are shared as if they were one, as beside products
  bool upper_bits = false;   // ProductParts::upper_bits
};

/// Binds the grid of a kernel of one phase to blocks, and to threads: products, vectorised loops, and, where the grid
/// has no other work for threads, loops that do nothing but reduce. Everything else is done by all threads of a block,
/// which wait for each other where one needs what another wrote.
void map_to_threads_of_blocks(loops::Kernel& kernel, const BlockForm& form);

}  // namespace tenon::schedule
