// The products that kernels call: compiled once for this process, when a kernel first needs them.
#pragma once

#include <span>
#include <vector>

#include "codegen/jit/jit.h"
#include "kernel/product/product.h"
#include "kernel/product/product_blocked.h"
#include "native/external_symbol.h"
#include "tenon/machine.h"

namespace tenon::codegen {

/// Make products of these types ready for the machine that runs this program; to be called before a kernel that uses
/// them runs. The first call for some types compiles, or loads what was compiled from disk; all others return at once.
/// Safe to call from many threads.
void prepare_products(const ProductTypes& types, bool disk_cache);

/// The functions of product_kinds(). Unless they are prepared they give the same results slowly.
std::span<const ExternalSymbol> product_symbols();

/// The requests that make the kernels of blocked_product() for `target`.
std::vector<Jit::Request> product_requests(const ProductTypes& types, const Target& target);

ProductCaches product_caches(const CpuMachine& cpu);

/// Those kernels for the target of `jit` and a machine with these caches. Their code lives as long as `jit`.
ProductKernels make_product_kernels(const ProductTypes& types, const ProductCaches& caches, Jit& jit);

}  // namespace tenon::codegen
