#include "schedule/blocks/product_sides.h"

#include <optional>

#include "schedule/blocks/phase_edit.h"

namespace tenon::schedule {

Joined joined(const loops::Kernel& kernel, const std::vector<int>& axes) {
  const auto axis_at = [&](size_t i) -> const loops::Axis& { return kernel.axes[static_cast<size_t>(axes[i])]; };
  Joined all;
  for (size_t i = axes.size(); i-- > 0;) {
    const loops::Axis& axis = axis_at(i);
    if (!is_whole(axis)) {
      Extent around = 1;
      for (size_t j = 0; j < i; ++j)
        around = around * axis_at(j).extent;
      const Extent tile = axis.extent * all.extent;
      all.cuts.push_back(
          {.counter = axis.tile_of, .tile = tile, .size = axis.total * all.extent + (around - 1) * tile});
    }
    all.extent = all.extent * axis.extent;
  }
  return all;
}

std::vector<loops::Bound> bounds_of(const Joined& all, const loops::Affine& index, int64_t piece) {
  std::vector<loops::Bound> inside;
  const std::optional<int64_t> known = all.extent.constant();
  if (!known || piece == 0 || *known % piece != 0) {
    inside.push_back({.index = index, .size = all.extent});
  }
  for (const Joined::Cut& cut : all.cuts) {
    inside.push_back({.index = add(index, scale(affine_axis(cut.counter), cut.tile)), .size = cut.size});
  }
  return inside;
}

}  // namespace tenon::schedule
