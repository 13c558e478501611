// The kernels of a library of products by their addresses; LLVM has no part in this.
#pragma once

#include <functional>

#include "kernel/product/product_blocked.h"
#include "native/product_shape.h"
#include "native/target.h"

namespace tenon::codegen {

/// How many panels side by side there are kernels for: constants of products of f32 alone lie in panels.
inline constexpr int kProductPanels[] = {2, ProductKernels::kMostPanels};

/// The kernels whose addresses `hand_out` writes, each part of the library its own, in the library's order.
ProductKernels product_table(const ProductTypes& types, const Target& target, const ProductCaches& caches,
                             const std::function<void(void** addresses)>& hand_out);

}  // namespace tenon::codegen
