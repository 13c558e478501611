// The products that kernels call: compiled once for this process, when a kernel first needs them.
#pragma once

#include <span>

#include "codegen/symbols.h"
#include "kernel/product.h"

namespace tenon::codegen {

/// Make products of these types ready for the machine that runs this program; to be called before a kernel that uses
/// them runs. The first call for some types compiles, or loads what was compiled from disk; all others return at once.
/// Safe to call from many threads.
void prepare_products(const ProductTypes& types, bool disk_cache = true);

/// The functions of product_kinds(). Unless they are prepared they give the same results slowly.
std::span<const ExternalSymbol> product_symbols();

}  // namespace tenon::codegen
