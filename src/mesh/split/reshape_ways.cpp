#include "mesh/split/reshape_ways.h"

#include <optional>

namespace tenon::mesh {
namespace {

/// Axes [from, from_end) of the operand are axes [to, to_end) of the result, in other groups.
struct AxisGroup {
  size_t from, from_end, to, to_end;
};

/// Whether the operand's side of a group needs another axis, rather than the result's, for the products to meet.
bool grows_from(const Extent& a, const Extent& b) {
  if (a.is_constant() && b.is_constant()) return *a.constant() < *b.constant();
  return !divide_exactly(a, b).has_value();
}

/// The smallest groups of axes with the same products, as far as extents show them.
std::vector<AxisGroup> groups_of(const std::vector<Axis>& from, const std::vector<Axis>& to) {
  std::vector<AxisGroup> groups;
  AxisGroup group{0, 0, 0, 0};
  Extent a = 1;
  Extent b = 1;
  while (true) {
    const bool is_empty = group.from_end == group.from || group.to_end == group.to;
    if (!is_empty && a == b) {
      groups.push_back(group);
      group = {group.from_end, group.from_end, group.to_end, group.to_end};
      a = b = 1;
      continue;
    }
    const bool grow_from = group.from_end == group.from || (group.to_end != group.to && grows_from(a, b));
    if (grow_from ? group.from_end == from.size() : group.to_end == to.size()) {
      return groups;  // what is left does not meet, as far as anybody knows
    }
    (grow_from ? a : b) *= (grow_from ? from[group.from_end++] : to[group.to_end++]).extent();
  }
}

/// The first axis of a group that has more than one element, and the product of those behind it.
std::optional<std::pair<int, Extent>> leading(const std::vector<Axis>& axes, size_t begin, size_t end) {
  while (begin < end && axes[begin].extent() == Extent(1)) {
    ++begin;
  }
  if (begin == end) return std::nullopt;
  Extent rest = 1;
  for (size_t i = begin + 1; i < end; ++i) {
    rest *= axes[i].extent();
  }
  return std::pair(static_cast<int>(begin), rest);
}

}  // namespace

void reshape_ways(const Shape& from, const Shape& to, const Placement& now, int ranks, std::vector<Way>& found) {
  if (from.element_count() == Extent(0)) return;
  for (const AxisGroup& group : groups_of(from.axes(), to.axes())) {
    const auto source = leading(from.axes(), group.from, group.from_end);
    const auto target = leading(to.axes(), group.to, group.to_end);
    if (!source || !target) continue;
    const auto& [axis, rest] = *source;
    const auto& [to_axis, to_rest] = *target;
    // A group of `unit` elements along the operand's axis is unit * rest elements of memory.
    const bool is_cut = now.is_split() && now.axis == axis;
    const Cut cut = is_cut ? now.cut : Cut::of(from.extent(axis), 1, ranks);
    if (const auto unit = divide_exactly(cut.unit * rest, to_rest)) {
      found.push_back({{Placement::split(axis, cut)}, {Placement::split(to_axis, Cut::of(cut.parts, *unit, ranks))}});
    } else if (const auto wanted = divide_exactly(to_rest, rest)) {
      const Extent& parts = to.extent(to_axis);
      found.push_back({{Placement::split(axis, Cut::of(parts, *wanted, ranks))},
                       {Placement::split(to_axis, Cut::of(parts, 1, ranks))}});
    }
  }
}

}  // namespace tenon::mesh
