// One row of bytes by a matrix in panels.
#pragma once

#include <cstdint>

#include "kernel/product/product_blocked.h"

namespace tenon {

/// As many whole panels as there are kernels for, several at once, of a product with one row whose right operand is
/// read where it lies. Gives how many columns that were, maybe none. `scratch` is that of blocked_product().
int64_t product_of_byte_row(const ProductKernels& kernels, const ProductTypes& types, const ProductCall& call,
                            void* scratch);

}  // namespace tenon
