// Products as loops, for blocks of threads.
#pragma once

#include <map>
#include <utility>

#include "kernel/loop/loop.h"
#include "schedule/blocks/operand_loops.h"
#include "schedule/blocks/split_product.h"

namespace tenon::schedule {

/// Threads of a block that has products.
inline constexpr int64_t kProductThreads = 256;

/// Buffers that products of a phase share; -1: not made yet.
struct ProductScratch {
  struct Operand {
    int even = -1, odd = -1;  // its parts in turn, in the memory of the block
    int held = -1;            // what each thread fetched of the next one
  };
  Operand left, right;
  int sums = -1;  // of each thread
};

/// By the types of the sums, and of what is in the memory of the block.
using ScratchOfProducts = std::map<std::pair<Dtype, Dtype>, ProductScratch>;

/// Operands that are computed where they are copied, by the scratch that they would have been stored in.
using OperandsByScratch = std::map<int, OperandLoops>;

struct ProductParts {
  const OperandsByScratch& operands;
  DepthPart part = {};
  bool upper_bits = false;  // of operands of f32 are enough: all those that instructions of tf32 read
};

/// The loops of a product, for a block of kProductThreads: parts of both operands go to the memory that the block
/// shares, by way of registers, so that the next part is on its way while this one is summed up. Each thread has
/// several sums in its registers. Where machines have instructions on matrices for it, sums are shared among the
/// threads as these have it (product_sums.h). Adds axes, values, accumulators and buffers to the kernel.
loops::Statement product_loops(loops::Kernel& kernel, const loops::Product& product, ScratchOfProducts& scratch,
                               const ProductParts& parts);

}  // namespace tenon::schedule
