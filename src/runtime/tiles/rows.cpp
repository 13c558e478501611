#include "runtime/tiles/rows.h"

namespace tenon::runtime {
namespace {

/// Rows [begin, end) of one item. Inside of an item rows go up, so that the ends are those of its first and last.
Interval elements_of_item(const TouchedRow& touched, int64_t item, int64_t begin, int64_t end) {
  return {touched.of(item, begin).begin, touched.of(item, end - 1).end};
}

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }
int64_t ceil_div(int64_t a, int64_t b) { return -floor_div(-a, b); }

/// The first row that ends behind a position; all there are where none does.
int64_t first_to_end_behind(const TouchedRow& touched, const RowCount& count, int64_t position) {
  const int64_t items = count.all / count.rows;
  const int64_t end = touched.of(0, count.rows - 1).end;
  int64_t item = 0;
  if (items > 1 && touched.item_step > 0) {
    item = std::max<int64_t>(0, floor_div(position - end, touched.item_step) + 1);
  }
  if (item >= items || end + item * touched.item_step <= position) {
    return count.all;
  }
  const int64_t inside = position - item * touched.item_step;
  const int64_t row = touched.step == 0 ? 0 : floor_div(inside - 1 - touched.last, touched.step) + 1;
  return item * count.rows + std::clamp<int64_t>(row, 0, count.rows - 1);
}

/// The first row that begins at a position or behind it; all there are where none does.
int64_t first_to_begin_at(const TouchedRow& touched, const RowCount& count, int64_t position) {
  const int64_t items = count.all / count.rows;
  const int64_t begin = touched.of(0, count.rows - 1).begin;
  int64_t item = 0;
  if (items > 1 && touched.item_step > 0) {
    item = std::max<int64_t>(0, ceil_div(position - begin, touched.item_step));
  }
  if (item >= items || begin + item * touched.item_step < position) {
    return count.all;
  }
  const int64_t inside = position - item * touched.item_step;
  const int64_t row = touched.step == 0 || touched.least >= inside ? 0 : ceil_div(inside - touched.first, touched.step);
  return item * count.rows + std::clamp<int64_t>(row, 0, count.rows - 1);
}

}  // namespace

Interval elements_of(std::span<const TouchedRow> touched, const RowCount& count, const Interval& rows) {
  Interval result;
  if (rows.empty()) {
    return result;
  }
  const int64_t first_item = rows.begin / count.rows;
  const int64_t last_item = (rows.end - 1) / count.rows;
  for (const TouchedRow& each : touched) {
    if (first_item == last_item) {
      result =
          hull(result, elements_of_item(each, first_item, rows.begin % count.rows, (rows.end - 1) % count.rows + 1));
      continue;
    }
    result = hull(result, elements_of_item(each, first_item, rows.begin % count.rows, count.rows));
    result = hull(result, elements_of_item(each, last_item, 0, (rows.end - 1) % count.rows + 1));
    if (last_item - first_item > 1) {
      result = hull(result, elements_of_item(each, first_item + 1, 0, count.rows));
      result = hull(result, elements_of_item(each, last_item - 1, 0, count.rows));
    }
  }
  return result;
}

Interval rows_of(std::span<const TouchedRow> touched, const RowCount& count, const Interval& elements) {
  if (elements.empty() || touched.empty()) {
    return {};
  }
  Interval rows{count.all, 0};
  for (const TouchedRow& each : touched) {
    rows.begin = std::min(rows.begin, first_to_end_behind(each, count, elements.begin));
    rows.end = std::max(rows.end, first_to_begin_at(each, count, elements.end));
  }
  return rows;
}

bool goes_up(std::span<const TouchedRow> touched, const RowCount& count) {
  for (const TouchedRow& each : touched) {
    if (each.step < 0 || each.item_step < 0) {
      return false;
    }
    const Interval last_of_item = each.of(0, count.rows - 1);
    const Interval next = each.of(1, 0);
    if (count.all > count.rows && (next.begin < last_of_item.begin || next.end < last_of_item.end)) {
      return false;
    }
  }
  return true;
}

}  // namespace tenon::runtime
