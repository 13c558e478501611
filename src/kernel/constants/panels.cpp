#include "kernel/constants/panels.h"

#include <algorithm>

#include "base/fail.h"
#include "base/pool.h"

namespace tenon::layouts {

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
template <class Element>
void pack(const Element* from, const PanelLayout& layout, Element* to) {
  const std::vector<int64_t> depth = offsets(layout);
  const auto steps = std::ssize(depth);
  const int64_t panels = (layout.columns + layout.panel - 1) / layout.panel;
  // Rows of several panels at once: what is read lies side by side.
  const auto pack_some = [&](int64_t begin, int64_t end, int /*worker*/) {
    for (int64_t k = 0; k < layout.whole_steps(); ++k) {
      for (int64_t panel = begin; panel < end; ++panel) {
        const int64_t first = panel * layout.panel;
        const int64_t width = std::min(layout.panel, layout.columns - first);
        const int64_t together = layout.together;
        Element* const row = to + (panel * layout.whole_steps() + k / together * together) * layout.panel;
        const Element* const source =
            k < steps ? from + depth[static_cast<size_t>(k)] + first * layout.column : nullptr;
        for (int64_t n = 0; n < layout.panel; ++n) {
          row[n * together + k % together] = source && n < width ? source[n * layout.column] : Element{0};
        }
      }
    }
  };
  Pool::shared().parallel_for(panels, kPanelsAtOnce, pack_some);
}

}  // namespace

Array in_panels(const Array& x, const PanelLayout& layout) {
  Array packed = Array::uninitialized(x.dtype(), {layout.elements()});
  if (byte_size(x.dtype()) == 1) {
    pack(x.data() + layout.base, layout, packed.mutable_data());
    return packed;
  }
  if (x.dtype() == Dtype::f16) {
    pack(x.values<Half>().data() + layout.base, layout, packed.mutable_values<Half>().data());
    return packed;
  }
  if (x.dtype() == Dtype::bf16) {
    pack(x.values<BFloat16>().data() + layout.base, layout, packed.mutable_values<BFloat16>().data());
    return packed;
  }
  TENON_CHECK(x.dtype() == Dtype::f32, "panels of {}", name(x.dtype()));
  float* const to = packed.mutable_values<float>().data();
  if (!layout.winograd) {
    pack(x.values<float>().data() + layout.base, layout, to);
    return packed;
  }
  TENON_CHECK(layout.depth.size() == 1 && layout.together == 1, "weights of several channels, or steps together");
  const WinogradWeights weights{.positions = *layout.winograd,
                                .base = layout.base,
                                .steps = layout.steps(),
                                .step = layout.depth[0].stride,
                                .columns = layout.columns,
                                .column = layout.column};
  write_winograd_panels(x, weights, layout.panel, to);
  return packed;
}

}  // namespace tenon::layouts
