#include "operations.h"

#include <fmt/format.h>

#include <cstdio>
#include <string>

#include "ops/catalog/catalog.h"
#include "ops/scalar/scalar_table.h"

namespace tenon {

void list_operations() {
  fmt::print("Elementwise functions, with NumPy broadcasting:\n\n");
  for (const ScalarFn* fn : scalar_table()) {
    static constexpr const char* kOperands[] = {"", "x", "x, y", "x, y, z"};
    const std::string call = fmt::format("{}({})", fn->name, kOperands[fn->arity]);
    fmt::print("  {:<28}{}\n", call, fn->doc);
  }
  fmt::print("\nBuilders:\n\n");
  for (const CatalogEntry& entry : catalog()) {
    std::string parameters;
    for (const auto& parameter : entry.parameters) {
      parameters += fmt::format("{}{}{}{}", parameters.empty() ? "" : ", ", parameter.name,
                                parameter.default_text.empty() ? "" : "=", parameter.default_text);
    }
    fmt::print("  {}({})\n      {}\n", entry.name, parameters, entry.doc);
  }
}

}  // namespace tenon
