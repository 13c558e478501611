#include "kernel/constants/layout.h"

#include "kernel/constants/storage_order.h"

namespace tenon::layouts {
namespace {

struct LayOut {
  const Array& x;

  Array operator()(const StorageOrder& order) const { return in_storage_order(x, order.axes); }
  Array operator()(const PanelLayout& panels) const { return in_panels(x, panels); }
};

}  // namespace

Array lay_out(const Array& x, const Layout& layout) { return std::visit(LayOut{x}, layout); }

}  // namespace tenon::layouts
