#include "schedule/panels.h"

#include <algorithm>

#include "base/fail.h"
#include "base/pool.h"

namespace tenon {

namespace {

constexpr int64_t kPanelsAtOnce = 8;

/// Where the elements of a column lie from its beginning, in the order of k.
std::vector<int64_t> offsets(const PanelLayout& layout) {
  std::vector<int64_t> all{0};
  for (const PanelLayout::Digit& digit : layout.depth) {
    std::vector<int64_t> next;
    next.reserve(all.size() * static_cast<size_t>(digit.count));
    for (const int64_t offset : all) {
      for (int64_t i = 0; i < digit.count; ++i) {
        next.push_back(offset + i * digit.stride);
      }
    }
    all = std::move(next);
  }
  return all;
}

}  // namespace

int64_t PanelLayout::steps() const {
  int64_t product = 1;
  for (const Digit& digit : depth) {
    product *= digit.count;
  }
  return product;
}

Array in_panels(const Array& x, const PanelLayout& layout) {
  TENON_CHECK(x.dtype() == Dtype::f32, "panels of {}", name(x.dtype()));
  Array packed = Array::uninitialized(x.dtype(), {layout.elements()});
  const float* const from = x.values<float>().data() + layout.base;
  float* const to = packed.mutable_values<float>().data();
  const std::vector<int64_t> depth = offsets(layout);
  const auto steps = std::ssize(depth);
  const int64_t panels = (layout.columns + layout.panel - 1) / layout.panel;
  // Rows of several panels at once: what is read lies side by side.
  const auto pack = [&](int64_t begin, int64_t end, int /*worker*/) {
    for (int64_t k = 0; k < steps; ++k) {
      for (int64_t panel = begin; panel < end; ++panel) {
        const int64_t first = panel * layout.panel;
        const int64_t width = std::min(layout.panel, layout.columns - first);
        float* const row = to + (panel * steps + k) * layout.panel;
        const float* const source = from + depth[static_cast<size_t>(k)] + first * layout.column;
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
