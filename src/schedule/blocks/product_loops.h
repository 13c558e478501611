// Products as loops, for blocks of threads.
#pragma once

#include <map>

#include "kernel/loop/loop.h"
#include "schedule/blocks/operand_loops.h"
#include "schedule/blocks/split_product.h"

namespace tenon::schedule {

/// Threads of a block that has products.
inline constexpr int64_t kProductThreads = 256;

/// Buffers that the products of a phase with sums of one type share; -1: not made yet.
struct ProductScratch {
  struct Operand {
    int even = -1, odd = -1;  // its parts in turn, in the memory of the block
    int held = -1;            // what each thread fetched of the next one
  };
  Operand left, right;
  int sums = -1;  // of each thread
};

/// Operands that are computed where they are copied, by the scratch that they would have been stored in.
using OperandsByScratch = std::map<int, OperandLoops>;

struct ProductParts {
  const OperandsByScratch& operands;
  DepthPart part = {};
};

/// The loops of a product, for a block of kProductThreads: parts of both operands go to the memory that the block
/// shares, by way of registers, so that the next part is on its way while this one is summed up. Each thread has
/// several sums in its registers. Adds axes, values, accumulators and buffers to the kernel.
loops::Statement product_loops(loops::Kernel& kernel, const loops::Product& product,
                               std::map<Dtype, ProductScratch>& scratch, const ProductParts& parts);

}  // namespace tenon::schedule
