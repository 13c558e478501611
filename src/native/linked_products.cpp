#include "native/linked_products.h"

#include <algorithm>

namespace tenon::codegen {

const LinkedProducts* find_linked_products(const ProductTypes& types, const Target& target) {
  const auto kind = std::ranges::find(product_kinds(), types, &ProductKind::types);
  const std::string identity = code_identity(target);
  for (const LinkedProducts& each : linked_products()) {
    if (each.symbol == kind->symbol && each.target == identity) return &each;
  }
  return nullptr;
}

}  // namespace tenon::codegen
