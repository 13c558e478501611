// Constant operands of products, laid out once as products read them.
#pragma once

#include <cstdint>

#include "tenon/array.h"

namespace tenon {

/// A matrix of `depth` by `columns` elements that lies in another array: element (k, n) at base + k * row + n * column.
/// In panels, element (k, n) lies at (n / panel) * depth * panel + k * panel + n % panel; columns beyond the last are
/// 0.
struct PanelLayout {
  int64_t panel = 0;
  int64_t depth = 0, columns = 0;
  int64_t base = 0, row = 0, column = 0;

  int64_t elements() const { return (columns + panel - 1) / panel * panel * depth; }

  friend auto operator<=>(const PanelLayout&, const PanelLayout&) = default;
};

/// The matrix in panels, of the dtype of `x`, which must be of 4 bytes.
Array in_panels(const Array& x, const PanelLayout& layout);

}  // namespace tenon
