// Which elements of a buffer a range of a grid touches.
#pragma once

#include <optional>
#include <vector>

#include "kernel/loop/loop.h"

namespace tenon::loops {

/// Which iterations of a grid count as rows: those of `axis`, again for each iteration of `item`, the axis before it,
/// such as rows of the images of a batch. -1: there is no such axis.
struct RowAxes {
  int item = -1;
  int axis = -1;
};

/// Row i of an item touches elements in [first + i * step, last + i * step], of which only those in [least, most]
/// exist, where these are given: padding and the last tile end there; all of it item_step further on with each item.
/// The first and the last are touched (unless padding cuts a window whose elements are several rows apart); others
/// between them need not be; where items are tiles, of which the last is shorter, more is named than it touches. Of no
/// meaning where a loop inside runs no iteration.
struct Touched {
  Extent first;
  Extent last;
  Extent step = 0;
  Extent item_step = 0;
  std::optional<Extent> least = {};
  std::optional<Extent> most = {};

  friend bool operator==(const Touched&, const Touched&) = default;
};

/// The first and the last element that rows [begin, end) of an item touch, of which there is at least one. Where the
/// first is behind the last they touch none.
Extent first_touched(const Touched& touched, const Extent& item, const Extent& begin, const Extent& end);
Extent last_touched(const Touched& touched, const Extent& item, const Extent& begin, const Extent& end);

/// All that is touched lies in one of the ranges. Nothing is touched where there are none.
struct Footprint {
  bool whole = false;  // any element: data decides which, or there are too many ranges. Then none is listed
  std::vector<Touched> ranges = {};

  bool empty() const { return !whole && ranges.empty(); }
  friend bool operator==(const Footprint&, const Footprint&) = default;
};

/// What a phase does with a buffer: nothing, where both are empty.
struct BufferUse {
  Footprint reads;
  Footprint writes;

  friend bool operator==(const BufferUse&, const BufferUse&) = default;
};

/// By buffer of the kernel, for ranges of rows while all axes of the grid behind them run in full. Scratch is not
/// looked at. Bounds that are no range of the position itself (one on rows and columns taken together) are not looked
/// at either, so more than what they leave may be named.
std::vector<BufferUse> footprints(const Kernel& kernel, const Phase& phase, const RowAxes& rows);

/// The rows of a phase that say most of what is touched where: as deep in the grid as items and rows reach.
RowAxes row_axes(const Kernel& kernel, const Phase& phase);

}  // namespace tenon::loops
