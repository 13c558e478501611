// Which elements rows of a kernel touch, and which rows touch given elements, at known sizes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>

namespace tenon::runtime {

/// From `begin` to before `end`; empty where there is nothing between them.
struct Interval {
  int64_t begin = 0;
  int64_t end = 0;

  bool empty() const { return begin >= end; }
  int64_t size() const { return empty() ? 0 : end - begin; }
  friend bool operator==(const Interval&, const Interval&) = default;
};

/// The smallest interval that holds both.
inline Interval hull(const Interval& a, const Interval& b) {
  if (a.empty() || b.empty()) {
    return a.empty() ? b : a;
  }
  return {std::min(a.begin, b.begin), std::max(a.end, b.end)};
}

/// loops::Touched at known sizes. Neither step is negative.
struct TouchedRow {
  int64_t first = 0;
  int64_t last = 0;
  int64_t step = 0;
  int64_t item_step = 0;
  int64_t least = std::numeric_limits<int64_t>::min();
  int64_t most = std::numeric_limits<int64_t>::max();

  /// What row `row` of item `item` touches.
  Interval of(int64_t item, int64_t row) const {
    const int64_t at = item * item_step;
    return {at + std::max(first + row * step, least), at + std::min(last + row * step, most) + 1};
  }
};

/// Rows are counted through all items.
struct RowCount {
  int64_t rows = 0;  // of an item
  int64_t all = 0;   // of all items
};

/// The hull of what rows touch.
Interval elements_of(std::span<const TouchedRow> touched, const RowCount& count, const Interval& rows);

/// The rows from the first that touches any of these elements to the last: where rows go up through the elements.
Interval rows_of(std::span<const TouchedRow> touched, const RowCount& count, const Interval& elements);

/// Whether no row begins or ends before one that is before it.
bool goes_up(std::span<const TouchedRow> touched, const RowCount& count);

}  // namespace tenon::runtime
