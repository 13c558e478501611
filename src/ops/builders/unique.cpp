// Different elements: sorted, marked where they differ from the one before, picked at the marks.
#include "ops/builders/selection.h"
#include "ops/make.h"
#include "tenon/control.h"
#include "tenon/indexing.h"
#include "tenon/selection.h"

namespace tenon {
namespace {

/// Slices of up to so many elements are sorts side by side in the graph, longer ones a loop of sorts.
constexpr int64_t kFewColumns = 8;

Value differ(const Value& a, const Value& b) {
  return is_float(a.dtype()) ? logical_and(ne(a, b), logical_not(logical_and(isnan(a), isnan(b)))) : ne(a, b);
}

/// Rows of elements, [row, column]: the order that sorts them, equal rows as they come. Sorts that keep the order of
/// equal keys, from the last column to the first.
Value order_rows(const Value& rows) {
  const Value as_they_come = iota(shape(Dtype::i64, rows.shape().axis(0)));
  const auto columns = rows.extent(1).constant();
  if (columns && *columns <= kFewColumns) {
    Value order = as_they_come;
    for (int64_t column = *columns; column-- > 0;) {
      const Value keys = squeeze(slice_axis(rows, 1, column, Extent(column + 1)), {1});
      order = sort_together({column + 1 == *columns ? keys : take(keys, order), order}, 0)[1];
    }
    return order;
  }
  const Value last = extent_value(rows.extent(1)) - 1;
  return scan(rows.extent(1), {as_they_come}, {},
              [&](const Value& trip, const std::vector<Value>& carried, const std::vector<Value>&) {
                const Value keys = take(take(rows, last - trip, 1), carried[0]);
                return ScanStep{.carried = {sort_together({keys, carried[0]}, 0)[1]}, .stacked = {}};
              })
      .carried[0];
}

/// True at rows that differ from the one before.
Value mark_new(const Value& sorted) {
  const Value index = iota(shape(Dtype::i64, sorted.shape().axis(0)));
  const Value before = take(sorted, max(index - 1, 0));
  const Value changed = differ(sorted, before);
  return logical_or(eq(index, 0), sorted.rank() == 1 ? changed : reduce_any(changed, {1}));
}

/// How long the runs that begin at `starts`, ascending, among `all` rows are. They come from `starts` alone, whose size
/// data decide: what is asked for these alone then still has what decides it.
Value lengths_of_runs(const Value& starts, const Extent& all) {
  const Value runs = extent_value(starts.extent(0));
  const Value after = iota(shape(Dtype::i64, starts.shape().axis(0))) + 1;
  const Value end = select(lt(after, runs), take(starts, min(after, runs - 1)), extent_value(all));
  return end - starts;
}

/// What sorts a permutation undoes it.
Value inverse_of(const Value& permutation) { return argsort(permutation); }

}  // namespace

UniqueElements unique(const Value& x, const UniqueOptions& options) {
  return in_context("unique", {x}, [&] {
    const int axis = options.axis ? x.shape().normalize_axis(*options.axis) : -1;
    Value rows = reshape(x, {x.shape().element_count()});
    if (axis >= 0) {
      Axes front = {axis};
      Extent columns = 1;
      for (int i = 0; i < x.rank(); ++i) {
        if (i != axis) {
          front.push_back(i);
          columns *= x.extent(i);
        }
      }
      rows = reshape(transpose(x, front), {x.shape().axis(axis), Axis(columns)});
    }
    const Value order = axis >= 0 ? order_rows(rows) : argsort(rows, 0);
    const Value is_new = mark_new(take(rows, order));
    const Value starts = positions(is_new, name_or_fresh(options.name, "unique")).positions;
    const Value group = cumulative_sum(cast(is_new, Dtype::i64), 0) - 1;  // of each row, in sorted order
    UniqueElements result;
    result.first = take(order, starts);
    result.inverse = take(group, inverse_of(order));
    result.counts = lengths_of_runs(starts, rows.extent(0));
    if (!options.sorted) {
      const Value appearance = argsort(result.first, 0);
      result.first = take(result.first, appearance);
      result.counts = take(result.counts, appearance);
      result.inverse = take(inverse_of(appearance), result.inverse);
    }
    result.values = axis >= 0 ? take(x, result.first, axis) : take(rows, result.first);
    return result;
  });
}

}  // namespace tenon
