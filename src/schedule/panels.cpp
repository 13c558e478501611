#include "schedule/panels.h"

#include <algorithm>

#include "base/fail.h"
#include "base/pool.h"

namespace tenon {

Array in_panels(const Array& x, const PanelLayout& layout) {
  TENON_CHECK(x.dtype() == Dtype::f32, "panels of {}", name(x.dtype()));
  Array packed = Array::uninitialized(x.dtype(), {layout.elements()});
  const float* const from = x.values<float>().data() + layout.base;
  float* const to = packed.mutable_values<float>().data();
  const auto pack = [&](int64_t begin, int64_t end, int /*worker*/) {
    for (int64_t panel = begin; panel < end; ++panel) {
      const int64_t first = panel * layout.panel;
      const int64_t width = std::min(layout.panel, layout.columns - first);
      for (int64_t k = 0; k < layout.depth; ++k) {
        float* const row = to + (panel * layout.depth + k) * layout.panel;
        for (int64_t n = 0; n < width; ++n) {
          row[n] = from[k * layout.row + (first + n) * layout.column];
        }
        std::fill(row + width, row + layout.panel, 0.0F);
      }
    }
  };
  Pool::shared().parallel_for((layout.columns + layout.panel - 1) / layout.panel, 1, pack);
  return packed;
}

}  // namespace tenon
