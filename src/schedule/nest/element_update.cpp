// Update: an element is the new value's where the path sees it, else the base's.
#include <ranges>

#include "schedule/nest/element.h"

namespace tenon::schedule {
namespace {

/// Follows the path from a point of the base to the point of what the path sees; `inside` are the bounds of being seen.
struct PathWalk {
  const Value& update;
  Point at;
  Mask inside = {};

  [[noreturn]] void refuse(const std::string& why) const { throw Refusal{why, {}}; }

  void step(const Slice& slice) {
    for (size_t i = 0; i < at.size(); ++i) {
      if (slice.step[i] != 1) {
        refuse("an update with a step would need a division");
      }
      if (!at[i].dynamic.empty()) {
        throw Refusal{"an update is read at computed positions", update};
      }
      at[i] = moved(at[i], -slice.start[i]);
      inside.push_back({.index = at[i].affine, .size = slice.size[i]});
    }
  }

  void step(const Transpose& transpose) {
    const Point before = at;
    for (size_t i = 0; i < at.size(); ++i) {
      at[i] = before[static_cast<size_t>(transpose.axes[i])];
    }
  }

  template <class View>
  void step(const View&) {
    refuse("an update through this view has no loop form");
  }
};

}  // namespace

Point place_of_update(const Value& update, Point point) {
  const std::vector<View>& path = update.node().as<Update>()->path;
  for (const View& view : std::views::reverse(path)) {
    if (const auto* slice = std::get_if<Slice>(&view)) {
      for (size_t i = 0; i < point.size(); ++i) {
        point[i] = moved(point[i], slice->start[i]);
      }
    } else {
      const Point seen = point;
      const std::vector<int>& axes = std::get<Transpose>(view).axes;
      for (size_t i = 0; i < point.size(); ++i) {
        point[static_cast<size_t>(axes[i])] = seen[i];
      }
    }
  }
  return point;
}

int ElementEmitter::element(const Update& op, const Value& value, const Point& point, const Mask& mask) {
  const Value& base = value.node().inputs[0];
  const Value& fresh = value.node().inputs[1];
  PathWalk walk{.update = value, .at = point};
  for (const View& view : op.path) {
    std::visit([&](const auto& kind) { walk.step(kind); }, view);
  }
  // A slice of a whole axis sees all of it.
  std::erase_if(walk.inside, [&](const loops::Bound& bound) {
    for (int i = 0; i < base.rank(); ++i) {
      if (bound.index == point[static_cast<size_t>(i)].affine && bound.size == base.extent(i)) {
        return true;
      }
    }
    return false;
  });
  Mask seen = mask;
  seen.insert(seen.end(), walk.inside.begin(), walk.inside.end());
  const int updated = emit(fresh, walk.at, seen);
  const int condition = values_.condition(walk.inside);
  return condition < 0 ? updated : values_.select(condition, updated, emit(base, point, mask));
}

}  // namespace tenon::schedule
