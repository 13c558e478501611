#include "codegen/products/product_library.h"

#include <memory>
#include <utility>

#include "disk/build_id.h"
#include "native/external_symbols.h"
#include "native/product_table.h"
#include "native/product_target.h"

namespace tenon::codegen {

void prepare_products(const ProductTypes& types, bool disk_cache) {
  provide_products(types, [&] {
    JitOptions options;
    options.target = product_target(types, host_target());
    options.symbols.assign(external_symbols().begin(), external_symbols().end());
    options.emitter = disk::build_id();
    options.cache.enabled = disk_cache;
    auto jit = std::make_unique<Jit>(std::move(options));
    const ProductKernels kernels = make_product_kernels(types, product_caches(this_machine().cpu()), *jit);
    // Code that calls these functions may run until the very end of the process.
    static auto& kept = *new std::vector<std::unique_ptr<Jit>>;
    kept.push_back(std::move(jit));
    return kernels;
  });
}

ProductKernels make_product_kernels(const ProductTypes& types, const ProductCaches& caches, Jit& jit) {
  return product_table(types, jit.target(), caches, [&](void** addresses) {
    for (void* const part : jit.compile(product_requests(types, jit.target()))) {
      reinterpret_cast<void (*)(void**)>(part)(addresses);
    }
  });
}

}  // namespace tenon::codegen
