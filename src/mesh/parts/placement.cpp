#include "mesh/parts/placement.h"

#include <fmt/format.h>

namespace tenon::mesh {

Cut Cut::of(const Extent& parts, const Extent& unit, int ranks) {
  if (const auto each = divide_exactly(parts, ranks)) {
    return {.parts = ranks, .unit = *each * unit, .reach = {}};
  }
  return {.parts = parts, .unit = unit, .reach = {}};
}

namespace {

Extent groups_before(const Cut& cut, int rank, int ranks) {
  return Extent(rank) * floordiv(cut.parts, ranks) + min(rank, mod(cut.parts, ranks));
}

Extent groups_of_rank(const Cut& cut, int rank, int ranks) { return floordiv(cut.parts + (ranks - 1 - rank), ranks); }

Extent inside(const Extent& position, const Extent& size) { return min(max(position, 0), size); }

}  // namespace

Extent Cut::size(int rank, int ranks) const {
  const Extent own = groups_of_rank(*this, rank, ranks) * unit;
  if (!reach) return own;
  const Extent first = groups_before(*this, rank, ranks) * unit * reach->stride - reach->low;
  const Extent behind = first + (max(own, 1) - 1) * reach->stride + reach->span;
  return inside(behind, reach->size) - inside(first, reach->size);
}

Extent Cut::begin(int rank, int ranks) const {
  const Extent first = groups_before(*this, rank, ranks) * unit;
  return reach ? inside(first * reach->stride - reach->low, reach->size) : first;
}

Extent missing(const Cut& have, const Cut& need, int rank, int ranks) {
  const Extent begin = have.begin(rank, ranks), size = have.size(rank, ranks);
  const Extent needed = need.begin(rank, ranks), needed_size = need.size(rank, ranks);
  return needed_size - max(min(begin + size, needed + needed_size) - max(begin, needed), 0);
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
