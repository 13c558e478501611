#include "codegen/products/product_library.h"

#include <array>
#include <atomic>
#include <mutex>
#include <utility>

#include "base/fail.h"
#include "codegen/jit/emitter_version.h"
#include "native/external_symbols.h"

namespace tenon::codegen {
namespace {

constexpr size_t kKinds = 11;

/// Kernels of a kind, which stay for as long as the process: code that calls them may run until its very end.
struct Prepared {
  Prepared(const ProductTypes& of, JitOptions options) : types(of), jit(std::move(options)) {}
  ProductTypes types;
  Jit jit;
  ProductKernels kernels;
};

std::array<std::atomic<const Prepared*>, kKinds>& table() {
  static std::array<std::atomic<const Prepared*>, kKinds> prepared = {};
  return prepared;
}

template <size_t Kind>
void multiply(const ProductCall* call, void* scratch) {
  if (const Prepared* const prepared = table()[Kind].load(std::memory_order_acquire)) {
    blocked_product(prepared->kernels, prepared->types, *call, scratch);
  } else {
    reference_product(product_kinds()[Kind].types, *call);
  }
}

template <size_t... Kinds>
std::vector<ExternalSymbol> make_symbols(std::index_sequence<Kinds...> /*kinds*/) {
  TENON_CHECK(product_kinds().size() == kKinds);
  return {{product_kinds()[Kinds].symbol, reinterpret_cast<void*>(multiply<Kinds>)}...};
}

}  // namespace

ProductCaches product_caches(const CpuMachine& cpu) { return {.first = cpu.first_cache, .second = cpu.second_cache}; }

void prepare_products(const ProductTypes& types, bool disk_cache) {
  static std::mutex mutex;
  for (size_t kind = 0; kind < kKinds; ++kind) {
    if (product_kinds()[kind].types != types) continue;
    std::atomic<const Prepared*>& entry = table()[kind];
    if (entry.load(std::memory_order_acquire) != nullptr) return;
    const std::lock_guard lock(mutex);
    if (entry.load(std::memory_order_relaxed) != nullptr) return;
    JitOptions options;
    options.symbols.assign(external_symbols().begin(), external_symbols().end());
    options.emitter = emitter_version();
    options.cache.enabled = disk_cache;
    auto prepared = std::make_unique<Prepared>(types, std::move(options));
    prepared->kernels = make_product_kernels(types, product_caches(this_machine().cpu()), prepared->jit);
    entry.store(prepared.release(), std::memory_order_release);
  }
}

std::span<const ExternalSymbol> product_symbols() {
  static const std::vector<ExternalSymbol> symbols = make_symbols(std::make_index_sequence<kKinds>());
  return symbols;
}

}  // namespace tenon::codegen
