#include "interp/view_map.h"

#include <cstring>
#include <numeric>

#include "base/fail.h"

namespace tenon {
namespace {

std::vector<int64_t> values_of(const std::vector<Extent>& extents, const Bindings& bindings) {
  std::vector<int64_t> values;
  values.reserve(extents.size());
  for (const Extent& extent : extents) {
    values.push_back(evaluate(extent, bindings));
  }
  return values;
}

/// Build a map from a function of the view's index to the operand's linear position.
template <class F>
std::vector<int64_t> map_of(const Index& to, F&& source) {
  std::vector<int64_t> map(static_cast<size_t>(count_of(to)));
  for_each_index(to, [&](const Index& index, int64_t i) { map[static_cast<size_t>(i)] = source(index); });
  return map;
}

std::vector<int64_t> map_view(const Reshape&, const Index&, const Index& to, const Bindings&) {
  std::vector<int64_t> map(static_cast<size_t>(count_of(to)));
  std::iota(map.begin(), map.end(), 0);
  return map;
}

std::vector<int64_t> map_view(const Transpose& view, const Index& from, const Index& to, const Bindings&) {
  const Index strides = pick(strides_of(from), view.axes);
  return map_of(to, [&](const Index& index) { return dot(index, strides); });
}

std::vector<int64_t> map_view(const Broadcast& view, const Index& from, const Index& to, const Bindings&) {
  const Index strides = strides_of(from);
  Index spread(to.size(), 0);
  for (size_t i = 0; i < from.size(); ++i) {
    spread[static_cast<size_t>(view.axes[i])] = from[i] == 1 ? 0 : strides[i];
  }
  return map_of(to, [&](const Index& index) { return dot(index, spread); });
}

std::vector<int64_t> map_view(const Slice& view, const Index& from, const Index& to, const Bindings& bindings) {
  const Index start = values_of(view.start, bindings);
  const Index strides = strides_of(from);
  return map_of(to, [&](const Index& index) {
    int64_t position = 0;
    for (size_t i = 0; i < index.size(); ++i) {
      position += (start[i] + index[i] * view.step[i]) * strides[i];
    }
    return position;
  });
}

/// The position along one axis that a padded position shows; -1 for the fill.
int64_t padded_source(int64_t position, int64_t size, PadMode mode) {
  if (position >= 0 && position < size) {
    return position;
  }
  switch (mode) {
    case PadMode::constant: return -1;
    case PadMode::edge: return position < 0 ? 0 : size - 1;
    case PadMode::reflect: return position < 0 ? -position : 2 * (size - 1) - position;
    case PadMode::wrap: return position < 0 ? position + size : position - size;
  }
  TENON_CHECK(false);
}

std::vector<int64_t> map_view(const Pad& view, const Index& from, const Index& to, const Bindings& bindings) {
  const Index low = values_of(view.low, bindings);
  const Index strides = strides_of(from);
  return map_of(to, [&](const Index& index) -> int64_t {
    int64_t position = 0;
    for (size_t i = 0; i < index.size(); ++i) {
      const int64_t source = padded_source(index[i] - low[i], from[i], view.mode);
      if (source < 0) {
        return -1;
      }
      position += source * strides[i];
    }
    return position;
  });
}

std::vector<int64_t> map_view(const Flip& view, const Index& from, const Index& to, const Bindings&) {
  Index strides = strides_of(from);
  int64_t last = 0;
  for (const int axis : view.axes) {
    const auto i = static_cast<size_t>(axis);
    last += (from[i] - 1) * strides[i];
    strides[i] = -strides[i];
  }
  return map_of(to, [&](const Index& index) { return last + dot(index, strides); });
}

}  // namespace

std::vector<int64_t> view_map(const View& view, const Index& from, const Index& to, const Bindings& bindings) {
  return std::visit([&](const auto& kind) { return map_view(kind, from, to, bindings); }, view);
}

Array gather_elements(const Array& x, const std::vector<int64_t>& map, const Index& dims, const Array& fill) {
  Array out(x.dtype(), dims);
  const size_t width = byte_size(x.dtype());
  std::byte* to = out.mutable_data();
  for (const int64_t source : map) {
    std::memcpy(to, source < 0 ? fill.data() : x.data() + static_cast<size_t>(source) * width, width);
    to += width;
  }
  return out;
}

Array transposed(const Array& x, const std::vector<int>& axes) {
  const Index dims = pick(x.dims(), axes);
  return gather_elements(x, view_map(Transpose{axes}, x.dims(), dims, {}), dims, {});
}

}  // namespace tenon
