// Products that fit the registers.
#pragma once

#include "kernel/product/product_blocked.h"

namespace tenon {

/// Bytes of a right operand: less than any second cache has, so nobody needs to look how large that is.
inline constexpr int64_t kSmallOperand = int64_t{64} << 10;

/// The product of `call`, which is not empty, if it is a single tile that reads both operands where they lie: to plan
/// blocks takes an eighth of the time of one of 16 x 16 x 16. False: nothing was done.
bool product_of_one_tile(const ProductKernels& kernels, const ProductCall& call);

}  // namespace tenon
