// The functions by which emitted code multiplies matrices, and the kernels that they use in this process.
#pragma once

#include <functional>
#include <span>

#include "kernel/product/product.h"
#include "kernel/product/product_blocked.h"
#include "native/external_symbol.h"
#include "tenon/machine.h"

namespace tenon::codegen {

ProductCaches product_caches(const CpuMachine& cpu);

/// The functions of product_kinds(). Until their kernels are provided they give the same results slowly.
std::span<const ExternalSymbol> product_symbols();

/// Have the functions of these types use kernels for the machine that runs this program: those linked in, else what
/// `make` returns, which is called once at most and must stay valid for as long as the process. All calls after the
/// first return at once. Safe to call from many threads.
void provide_products(const ProductTypes& types, const std::function<ProductKernels()>& make);

}  // namespace tenon::codegen
