#include "ops/scalar/scalar_table.h"

#include <unordered_map>

#include "base/fail.h"

namespace tenon {
namespace {

const std::unordered_map<std::string_view, const ScalarFn*>& by_name() {
  static const auto index = [] {
    std::unordered_map<std::string_view, const ScalarFn*> rows;
    for (const ScalarFn* fn : scalar_table()) {
      TENON_CHECK(rows.emplace(fn->name, fn).second, "two rows are called {}", fn->name);
    }
    return rows;
  }();
  return index;
}

}  // namespace

std::vector<const ScalarFn*> scalar_table() {
  std::vector<const ScalarFn*> rows;
  for (const auto family : {arithmetic_rows(), exponential_rows(), trigonometric_rows(), comparison_rows(),
                            rounding_rows(), activation_rows()}) {
    for (const ScalarFn& row : family) {
      rows.push_back(&row);
    }
  }
  return rows;
}

const ScalarFn* find_scalar_fn(std::string_view name) {
  const auto found = by_name().find(name);
  return found == by_name().end() ? nullptr : found->second;
}

const ScalarFn& scalar_fn(std::string_view name) {
  const ScalarFn* fn = find_scalar_fn(name);
  TENON_CHECK(fn != nullptr, "no scalar function {}", name);
  return *fn;
}

}  // namespace tenon
