#include "schedule/panels.h"

#include <algorithm>

#include "base/fail.h"
#include "base/pool.h"

namespace tenon {

constexpr int64_t kPanelsAtOnce = 8;

Array in_panels(const Array& x, const PanelLayout& layout) {
  TENON_CHECK(x.dtype() == Dtype::f32, "panels of {}", name(x.dtype()));
  Array packed = Array::uninitialized(x.dtype(), {layout.elements()});
  const float* const from = x.values<float>().data() + layout.base;
  float* const to = packed.mutable_values<float>().data();
  const int64_t panels = (layout.columns + layout.panel - 1) / layout.panel;
  // Rows of several panels at once: what is read lies side by side.
  const auto pack = [&](int64_t begin, int64_t end, int /*worker*/) {
    for (int64_t k = 0; k < layout.depth; ++k) {
      for (int64_t panel = begin; panel < end; ++panel) {
        const int64_t first = panel * layout.panel;
        const int64_t width = std::min(layout.panel, layout.columns - first);
        float* const row = to + (panel * layout.depth + k) * layout.panel;
        const float* const source = from + k * layout.row + first * layout.column;
        for (int64_t n = 0; n < width; ++n) {
          row[n] = source[n * layout.column];
        }
        std::fill(row + width, row + layout.panel, 0.0F);
      }
    }
  };
  Pool::shared().parallel_for(panels, kPanelsAtOnce, pack);
  return packed;
}

}  // namespace tenon
