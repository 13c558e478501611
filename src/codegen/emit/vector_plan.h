// How a vectorised loop is laid out in lanes.
#pragma once

#include <vector>

#include "kernel/loop/loop.h"
#include "native/target.h"

namespace tenon::codegen {

/// The loop runs steps of `lanes * unroll` elements, then what remains in steps of `lanes`. A function of the kernel
/// and the target alone, so that the order in which elements are combined is one too.
struct VectorPlan {
  unsigned lanes = 1;        // a power of two
  unsigned unroll = 1;       // a power of two
  bool masked_tail = false;  // steps of what remains are under a mask; else its last elements run one by one
  std::vector<Extent> run_time_strides;  // along the axis, other than constants, each once
};

/// With `fetches_parts` each step asks for a line of a part of the next row (prefetch_plan.h), so steps are long.
VectorPlan plan_vector_loop(const loops::Kernel& kernel, const loops::Loop& loop, const Target& target,
                            bool fetches_parts = false);

/// Whether loads and stores of elements of so many bytes exist with a mask.
bool has_masked_access(const Target& target, int bytes);

/// The scale of `axis` in `at`; 0 where it does not occur.
Extent scale_of(const loops::Affine& at, int axis);

/// A guess at the instructions that a block costs for one vector (or scalar) of elements.
int block_cost(const loops::Kernel& kernel, const loops::Block& block);

}  // namespace tenon::codegen
