#include "mesh/parts/placement.h"

#include <fmt/format.h>

namespace tenon::mesh {

Cut Cut::of(const Extent& parts, const Extent& unit, int ranks) {
  if (const auto each = divide_exactly(parts, ranks)) {
    return {.parts = ranks, .unit = *each * unit};
  }
  return {.parts = parts, .unit = unit};
}

Extent Cut::size(int rank, int ranks) const { return floordiv(parts + (ranks - 1 - rank), ranks) * unit; }

Extent Cut::begin(int rank, int ranks) const {
  return (Extent(rank) * floordiv(parts, ranks) + min(rank, mod(parts, ranks))) * unit;
}

Layout whole_layout(const MeshShape& mesh) { return Layout(mesh.axes.size()); }

bool is_split_elsewhere(const Layout& layout, int axis, size_t but) {
  for (size_t m = 0; m < layout.size(); ++m) {
    if (m != but && layout[m].is_split() && layout[m].axis == axis) return true;
  }
  return false;
}

std::vector<Axis> local_axes(const std::vector<Axis>& axes, const Layout& layout, const MeshShape& mesh,
                             const std::vector<int>& coordinates) {
  std::vector<Axis> result = axes;
  for (size_t m = 0; m < layout.size(); ++m) {
    if (layout[m].is_split()) {
      result[static_cast<size_t>(layout[m].axis)] = Axis(layout[m].cut.size(coordinates[m], mesh.axes[m].size));
    }
  }
  return result;
}

std::string describe(const Layout& layout, const Shape& shape, const MeshShape& mesh) {
  std::string text;
  for (size_t m = 0; m < layout.size(); ++m) {
    const Placement& each = layout[m];
    if (each.is_whole()) continue;
    text += text.empty() ? "" : ", ";
    if (each.is_partial()) {
      text += fmt::format("{} of parts over {}", name(each.op), mesh.axes[m].name);
      continue;
    }
    const std::string axis = shape.axis(each.axis).name();
    text += fmt::format("{} over {}", axis.empty() ? fmt::format("axis {}", each.axis) : axis, mesh.axes[m].name);
  }
  return text.empty() ? "whole" : text;
}

}  // namespace tenon::mesh
