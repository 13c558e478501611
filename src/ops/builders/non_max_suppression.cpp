// Boxes that no better box of their class overlaps: all classes of all batches pick one box a trip.
#include "base/refused.h"
#include "ops/builders/selection.h"
#include "ops/make.h"
#include "tenon/control.h"
#include "tenon/indexing.h"
#include "tenon/selection.h"

namespace tenon {
namespace {

/// Two of the numbers of each box.
Value pair(const Value& boxes, int64_t begin) {
  return slice(boxes, {0, 0, begin}, {boxes.extent(0), boxes.extent(1), 2});
}

/// Boxes as lower and upper bounds of their two sides, along the last axis: [low, low, high, high].
Value as_bounds(const Value& boxes, bool center_and_size) {
  const Value first = pair(boxes, 0);
  const Value second = pair(boxes, 2);
  return center_and_size ? concat({first - second / 2, first + second / 2}, -1)
                         : concat({min(first, second), max(first, second)}, -1);
}

Value side(const Value& bounds, int64_t i) { return squeeze(slice_axis(bounds, -1, i, Extent(i + 1)), {-1}); }

Value area(const Value& bounds) { return (side(bounds, 2) - side(bounds, 0)) * (side(bounds, 3) - side(bounds, 1)); }

/// Whether boxes of broadcast shapes [..., 4] share more than `overlap` of what they cover together.
Value overlaps(const Value& a, const Value& b, const Value& overlap) {
  const auto extent = [&](int64_t i) {
    return max(min(side(a, i + 2), side(b, i + 2)) - max(side(a, i), side(b, i)), 0);
  };
  const Value shared = extent(0) * extent(1);
  const Value together = area(a) + area(b) - shared;
  return logical_and(gt(shared, 0), gt(shared / together, overlap));
}

void check_shapes(const Value& boxes, const Value& scores) {
  if (boxes.rank() != 3 || scores.rank() != 3 || boxes.dtype() != scores.dtype() || !is_float(boxes.dtype())) {
    refuse("needs boxes [batch, box, 4] and scores [batch, class, box] of one float type");
  }
  if (compare(boxes.extent(2), 4) == Comparison::different) {
    refuse("boxes have {} numbers each, must have 4", boxes.shape().axis(2).to_string());
  }
}

}  // namespace

Value non_max_suppression(const Value& boxes, const Value& scores, const SuppressionOptions& options) {
  return in_context("non_max_suppression", {boxes, scores}, [&] {
    check_shapes(boxes, scores);
    const Dtype dtype = boxes.dtype();
    const Axis batch = scores.shape().axis(0);
    const Axis type = scores.shape().axis(1);
    const Axis box = scores.shape().axis(2);
    const Value bounds = as_bounds(boxes, options.center_and_size);
    const Value overlap = options.overlap ? cast(options.overlap, dtype) : scalar(dtype, 0);
    const Value order = argsort(scores, 2, true);
    const Value rank = argsort(order, 2);  // the smaller, the better
    Value alive = logical_not(isnan(scores));
    if (options.score) {
      alive = logical_and(alive, gt(scores, cast(options.score, dtype)));
    }
    const Extent& count = box.extent();
    const Extent trips = options.limit ? count : simplify(min(count, max(options.most, 0)));
    const Value none = extent_value(count);
    const auto pick = [&](const Value& trip, const std::vector<Value>& carried, const std::vector<Value>&) {
      Value open = carried[0];
      if (options.limit) {
        open = logical_and(open, lt(trip, cast(options.limit, Dtype::i64)));
      }
      // The box of the best rank; any box where none is left.
      const Value first = min(reduce_min(select(open, rank, none), {2}), none - 1);  // [batch, class]
      const Value best = squeeze(take_along_axis(order, expand_dims(first, {2}), 2), {2});
      const Value picked = gather(bounds, {best}, {.axes = {1}, .x_batch = {0}, .index_batch = {0}});
      const Value covered = overlaps(expand_dims(picked, {2}), expand_dims(bounds, {1}), overlap);
      const Value is_best = eq(iota(shape(Dtype::i64, batch, type, box), 2), expand_dims(best, {2}));
      return ScanStep{.carried = {logical_and(open, logical_not(logical_or(covered, is_best)))},
                      .stacked = {best, reduce_any(open, {2})}};
    };
    const ScanStep picks = scan(trips, {alive}, {}, pick);
    // From [trip, batch, class] to [batch, class, trip].
    const Value best = transpose(picks.stacked[0], {1, 2, 0});
    const Value valid = transpose(picks.stacked[1], {1, 2, 0});
    const Value where = positions(valid, name_or_fresh(options.name, "selected")).positions;
    const std::vector<Value> at = unravel(where, valid.shape().axes());
    const Value index = take(reshape(best, {best.shape().element_count()}), where);
    return stack({at[0], at[1], index}, 1);
  });
}

}  // namespace tenon
