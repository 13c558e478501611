// Norms and moments as reductions.
#include "base/refused.h"
#include "ops/composites/composite.h"
#include "tenon/nn.h"

namespace tenon {
namespace {

/// A composite of one operand that reduces `axes`, computed in the wide dtype by `build`, which keeps them.
Value reduction(std::string_view name, const Value& x, const Axes& axes, bool keep,
                const std::function<Value(const Value& wide, const Axes& reduced)>& build) {
  return composite_of(name, {{"x", x}}, [&](const Parts& in) {
    if (!in[0]) {
      refuse("`x` is an empty Value");
    }
    const Axes reduced = reduced_axes(axes, x.shape());
    const Value result = cast(build(widen(in[0]), reduced), x.dtype());
    return keep ? result : squeeze(result, reduced);
  });
}

/// Two passes: the difference of two large sums would lose everything for a large mean.
Value spread(const Value& wide, const Axes& reduced, int64_t correction) {
  require_float(wide, "x");
  Extent count = 1;
  for (const int axis : reduced) {
    count *= wide.extent(axis);
  }
  const Value squares = square(wide - reduce_mean(wide, reduced, true));
  return reduce_sum(squares, reduced, true) / extent_value(simplify(max(count - correction, 0)), wide.dtype());
}

}  // namespace

Value reduce_l1(const Value& x, const Axes& axes, bool keep) {
  return reduction("reduce_l1", x, axes, keep,
                   [](const Value& wide, const Axes& reduced) { return reduce_sum(abs(wide), reduced, true); });
}

Value reduce_l2(const Value& x, const Axes& axes, bool keep) {
  return reduction("reduce_l2", x, axes, keep, [](const Value& wide, const Axes& reduced) {
    require_float(wide, "x");
    return sqrt(reduce_sum(square(wide), reduced, true));
  });
}

Value reduce_sum_square(const Value& x, const Axes& axes, bool keep) {
  return reduction("reduce_sum_square", x, axes, keep,
                   [](const Value& wide, const Axes& reduced) { return reduce_sum(square(wide), reduced, true); });
}

Value reduce_log_sum(const Value& x, const Axes& axes, bool keep) {
  return reduction("reduce_log_sum", x, axes, keep, [](const Value& wide, const Axes& reduced) {
    require_float(wide, "x");
    return log(reduce_sum(wide, reduced, true));
  });
}

Value variance(const Value& x, const Axes& axes, bool keep, int64_t correction) {
  return reduction("variance", x, axes, keep,
                   [&](const Value& wide, const Axes& reduced) { return spread(wide, reduced, correction); });
}

Value standard_deviation(const Value& x, const Axes& axes, bool keep, int64_t correction) {
  return reduction("standard_deviation", x, axes, keep,
                   [&](const Value& wide, const Axes& reduced) { return sqrt(spread(wide, reduced, correction)); });
}

}  // namespace tenon
