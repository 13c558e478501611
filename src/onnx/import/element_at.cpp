#include "onnx/import/element_at.h"

#include <fmt/format.h>

#include <algorithm>

#include "onnx/import/known_map.h"
#include "shape/not_representable.h"
#include "tenon/assumptions.h"
#include "tenon/error.h"

namespace tenon::importer {
namespace {

constexpr int kMostNodes = 200;  // on the way to an element; what several read counts as often
constexpr int kDeepest = 50;

using ElementIndex = std::vector<Extent>;
using Known = std::optional<Extent>;

class Search {
 public:
  Known at(const Value& value, const ElementIndex& place) {
    if (++visited_ > kMostNodes || depth_ > kDeepest || value.node().shapes.size() != 1) {
      return {};
    }
    ++depth_;
    Known found = std::visit([&](const auto& kind) { return look(kind, value.node(), place); }, value.node().op);
    --depth_;
    return found;
  }

 private:
  static Known look(const Iota& iota, const Node& /*node*/, const ElementIndex& place) {
    return place.empty() ? iota.start : iota.start + iota.step * place[static_cast<size_t>(iota.axis)];
  }

  static Known look(const Constant& constant, const Node& /*node*/, const ElementIndex& place) {
    int64_t offset = 0;
    for (size_t i = 0; i < place.size(); ++i) {
      const int64_t dim = constant.value.dims()[i];
      const std::optional<int64_t> at = dim == 1 ? 0 : place[i].constant();
      if (!at || *at < 0 || *at >= dim) {
        return {};
      }
      offset = offset * dim + *at;
    }
    return constant.value.size() == 0 ? Known() : to_extent(to_element(constant.value, offset));
  }

  Known look(const Map& map, const Node& node, const ElementIndex& place) {
    Elements elements;
    std::vector<Dtype> dtypes;
    for (const Value& operand : node.inputs) {
      const Known element = is_float(operand.dtype()) ? Known() : at(operand, place);
      if (!element) {
        return {};
      }
      elements.push_back({*element, 1});
      dtypes.push_back(operand.dtype());
    }
    return to_extent(map_elements(map, dtypes, elements));
  }

  Known look(const Broadcast& view, const Node& node, const ElementIndex& place) {
    ElementIndex from;
    for (size_t i = 0; i < view.axes.size(); ++i) {
      const auto axis = static_cast<size_t>(view.axes[i]);
      const Extent& size = node.inputs[0].extent(static_cast<int>(i));
      if (size == Extent(1)) {
        from.emplace_back(0);
      } else if (size == view.to[axis].extent()) {
        from.push_back(place[axis]);
      } else {
        return {};  // 1 or not, when bound
      }
    }
    return at(node.inputs[0], from);
  }

  /// Axes of size 1 come and go; the others stay.
  Known look(const Reshape& view, const Node& node, const ElementIndex& place) {
    ElementIndex from;
    size_t to = 0;
    const auto skip_ones = [&] {
      while (to < view.to.size() && view.to[to].extent() == Extent(1)) {
        ++to;
      }
    };
    for (const Axis& axis : node.inputs[0].shape().axes()) {
      if (axis.extent() == Extent(1)) {
        from.emplace_back(0);
        continue;
      }
      skip_ones();
      if (to == view.to.size() || view.to[to].extent() != axis.extent()) {
        return {};
      }
      from.push_back(place[to++]);
    }
    skip_ones();
    return to == view.to.size() ? at(node.inputs[0], from) : Known();
  }

  Known look(const Transpose& view, const Node& node, const ElementIndex& place) {
    ElementIndex from(place.size());
    for (size_t i = 0; i < place.size(); ++i) {
      from[static_cast<size_t>(view.axes[i])] = place[i];
    }
    return at(node.inputs[0], from);
  }

  Known look(const Slice& view, const Node& node, const ElementIndex& place) {
    ElementIndex from;
    for (size_t i = 0; i < place.size(); ++i) {
      from.push_back(view.start[i] + view.step[i] * place[i]);
    }
    return at(node.inputs[0], from);
  }

  Known look(const Concat& concat, const Node& node, const ElementIndex& place) {
    const auto axis = static_cast<size_t>(concat.axis);
    std::optional<int64_t> left = place[axis].constant();
    for (const Value& operand : node.inputs) {
      const std::optional<int64_t> size = operand.extent(concat.axis).constant();
      if (!left || !size) {
        return {};
      }
      if (*left < *size) {
        ElementIndex from = place;
        from[axis] = *left;
        return at(operand, from);
      }
      *left -= *size;
    }
    return {};
  }

  template <class Other>
  static Known look(const Other& /*kind*/, const Node& /*node*/, const ElementIndex& /*place*/) {
    return {};
  }

  static Known to_extent(const std::optional<Element>& element) {
    return element && element->denominator == 1 ? Known(element->numerator) : Known();
  }

  int visited_ = 0;
  int depth_ = 0;
};

}  // namespace

std::optional<Extent> element_at(const Value& value, const std::vector<Extent>& place) {
  try {
    return Search().at(value, place);
  } catch (const NotRepresentable&) {  // beyond 64 bits
    return {};
  }
}

std::optional<std::vector<Extent>> grid_start(const Value& positions) {
  const int places = positions.rank() - 1;
  if (places < 0 || positions.extent(places) != Extent(places)) {
    return {};
  }
  // Names that no model has, for any position along each place; where there is but one, it is 0.
  std::vector<Extent> place;
  for (int i = 0; i < places; ++i) {
    place.push_back(positions.extent(i) == Extent(1) ? Extent(0) : Extent::name(fmt::format("position {} of any", i)));
  }
  std::vector<Extent> start;
  for (int axis = 0; axis < places; ++axis) {
    std::vector<Extent> at = place;
    at.emplace_back(axis);
    const std::optional<Extent> element = element_at(positions, at);
    if (!element) {
      return {};
    }
    start.push_back(*element - place[static_cast<size_t>(axis)]);
    const std::vector<std::string> names = start.back().names();
    const bool is_free = std::ranges::none_of(place, [&](const Extent& any) {
      return any.as_name() && std::ranges::find(names, *any.as_name()) != names.end();
    });
    if (!is_free || !proves_at_least(start.back(), 0)) {
      return {};
    }
  }
  return start;
}

}  // namespace tenon::importer
