// The code of products, compiled: in this process for machines that none is linked in for, and when Tenon is built.
#pragma once

#include <vector>

#include "codegen/jit/jit.h"
#include "kernel/product/product.h"
#include "kernel/product/product_blocked.h"
#include "native/product_functions.h"

namespace tenon::codegen {

/// Make products of these types ready for the machine that runs this program; to be called before a kernel that uses
/// them runs. Where no code for it is linked in, the first call for some types compiles, or loads what was compiled
/// from disk; all others return at once. Safe to call from many threads.
void prepare_products(const ProductTypes& types, bool disk_cache);

/// The requests that make the kernels of blocked_product() for `target`, at most kProductParts of them.
std::vector<Jit::Request> product_requests(const ProductTypes& types, const Target& target);

/// Those kernels for the target of `jit` and a machine with these caches. Their code lives as long as `jit`.
ProductKernels make_product_kernels(const ProductTypes& types, const ProductCaches& caches, Jit& jit);

}  // namespace tenon::codegen
