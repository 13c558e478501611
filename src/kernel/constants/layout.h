// Another form of a constant, as kernels read it.
#pragma once

#include <variant>
#include <vector>

#include "kernel/constants/panels.h"
#include "tenon/array.h"

namespace tenon::layouts {

/// Its axes in another order, outermost first.
struct StorageOrder {
  std::vector<int> axes;

  friend bool operator==(const StorageOrder&, const StorageOrder&) = default;
};

using Layout = std::variant<StorageOrder, PanelLayout>;

Array lay_out(const Array& x, const Layout& layout);

}  // namespace tenon::layouts
