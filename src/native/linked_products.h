// The code of products for usual machines that was made when Tenon was built and is linked into this program.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include "kernel/product/product.h"
#include "native/target.h"

namespace tenon::codegen {

/// The code of a library of products is in so many parts, compiled side by side; each hands out its own addresses. What
/// is the same code in several libraries is linked in once.
inline constexpr size_t kProductParts = 4;

/// Products of one combination of dtypes for one target.
struct LinkedProducts {
  std::string_view symbol;                                      ///< ProductKind::symbol
  std::string_view target;                                      ///< code_identity() of their product_target()
  std::array<void (*)(void** addresses), kProductParts> parts;  ///< null: there is none

  /// Writes all addresses, as product_table() asks for them.
  auto hand_out() const {
    return [this](void** addresses) {
      for (const auto part : parts) {
        if (part != nullptr) part(addresses);
      }
    };
  }
};

/// All of them. The program gen_products writes its definition, together with the code.
std::span<const LinkedProducts> linked_products();

/// Those for a product_target(); null where none are linked in.
const LinkedProducts* find_linked_products(const ProductTypes& types, const Target& target);

}  // namespace tenon::codegen
