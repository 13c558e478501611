#include "native/product_functions.h"

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/fail.h"
#include "native/linked_products.h"
#include "native/product_table.h"
#include "native/product_target.h"

namespace tenon::codegen {
namespace {

constexpr size_t kKinds = 11;

/// Kernels of a kind, which stay for as long as the process: code that calls them may run until its very end.
struct Provided {
  ProductTypes types;
  ProductKernels kernels;
};

std::array<std::atomic<const Provided*>, kKinds>& table() {
  static std::array<std::atomic<const Provided*>, kKinds> provided = {};
  return provided;
}

template <size_t Kind>
void multiply(const ProductCall* call, void* scratch) {
  if (const Provided* const provided = table()[Kind].load(std::memory_order_acquire)) {
    blocked_product(provided->kernels, provided->types, *call, scratch);
  } else {
    reference_product(product_kinds()[Kind].types, *call);
  }
}

template <size_t... Kinds>
std::vector<ExternalSymbol> make_symbols(std::index_sequence<Kinds...> /*kinds*/) {
  TENON_CHECK(product_kinds().size() == kKinds);
  return {{product_kinds()[Kinds].symbol, reinterpret_cast<void*>(multiply<Kinds>)}...};
}

ProductKernels linked_or_made(const ProductTypes& types, const std::function<ProductKernels()>& make) {
  const Target target = product_target(types, host_target());
  const LinkedProducts* const linked = find_linked_products(types, target);
  if (linked == nullptr) return make();
  return product_table(types, target, product_caches(this_machine().cpu()), linked->hand_out());
}

}  // namespace

ProductCaches product_caches(const CpuMachine& cpu) { return {.first = cpu.first_cache, .second = cpu.second_cache}; }

std::span<const ExternalSymbol> product_symbols() {
  static const std::vector<ExternalSymbol> symbols = make_symbols(std::make_index_sequence<kKinds>());
  return symbols;
}

void provide_products(const ProductTypes& types, const std::function<ProductKernels()>& make) {
  static std::mutex mutex;
  for (size_t kind = 0; kind < kKinds; ++kind) {
    if (product_kinds()[kind].types != types) continue;
    std::atomic<const Provided*>& entry = table()[kind];
    if (entry.load(std::memory_order_acquire) != nullptr) return;
    const std::lock_guard lock(mutex);
    if (entry.load(std::memory_order_relaxed) != nullptr) return;
    auto provided = std::make_unique<Provided>(Provided{types, linked_or_made(types, make)});
    entry.store(provided.release(), std::memory_order_release);
  }
}

}  // namespace tenon::codegen
