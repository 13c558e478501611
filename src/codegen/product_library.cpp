#include "codegen/product_library.h"

#include <vector>

namespace tenon::codegen {
namespace {

template <size_t Kind>
void multiply(const ProductCall* call, void* /*scratch*/) {
  reference_product(product_kinds()[Kind].types, *call);
}

template <size_t... Kinds>
std::vector<ExternalSymbol> make_symbols(std::index_sequence<Kinds...>) {
  return {{product_kinds()[Kinds].symbol, reinterpret_cast<void*>(multiply<Kinds>)}...};
}

}  // namespace

void prepare_products(const ProductTypes& /*types*/, bool /*disk_cache*/) {}

std::span<const ExternalSymbol> product_symbols() {
  static const std::vector<ExternalSymbol> symbols = make_symbols(std::make_index_sequence<8>());
  return symbols;
}

}  // namespace tenon::codegen
