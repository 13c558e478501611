#include "schedule/products/panels.h"

#include <algorithm>

#include "base/fail.h"
#include "base/pool.h"

namespace tenon::schedule {

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

namespace {

/// One matrix that lies at `from`.
void pack(const float* from, const PanelLayout& layout, float* to) {
  const std::vector<int64_t> depth = offsets(layout);
  const auto steps = std::ssize(depth);
  const int64_t panels = (layout.columns + layout.panel - 1) / layout.panel;
  // Rows of several panels at once: what is read lies side by side.
  const auto pack_some = [&](int64_t begin, int64_t end, int /*worker*/) {
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
  Pool::shared().parallel_for(panels, kPanelsAtOnce, pack_some);
}

}  // namespace

Array in_panels(const Array& x, const PanelLayout& layout) {
  TENON_CHECK(x.dtype() == Dtype::f32, "panels of {}", name(x.dtype()));
  Array packed = Array::uninitialized(x.dtype(), {layout.elements()});
  float* const to = packed.mutable_values<float>().data();
  if (!layout.winograd) {
    pack(x.values<float>().data() + layout.base, layout, to);
    return packed;
  }
  TENON_CHECK(layout.depth.size() == 1, "weights of several channels");
  const int64_t steps = layout.steps();
  const Array parts = winograd_weights(x, {.positions = *layout.winograd,
                                           .base = layout.base,
                                           .steps = steps,
                                           .step = layout.depth[0].stride,
                                           .columns = layout.columns,
                                           .column = layout.column});
  const PanelLayout of_part{.panel = layout.panel,
                            .columns = layout.columns,
                            .base = 0,
                            .column = 1,
                            .depth = {{.count = steps, .stride = layout.columns}}};
  for (int64_t part = 0; part < kWinogradParts; ++part) {
    pack(parts.values<float>().data() + part * steps * layout.columns, of_part, to + part * layout.matrix_elements());
  }
  return packed;
}

}  // namespace tenon::schedule
