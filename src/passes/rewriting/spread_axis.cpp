#include "passes/rewriting/spread_axis.h"

#include "tenon/ops.h"

namespace tenon::passes {

Value spread_axis(const Value& x, int axis, int64_t spread, double fill) {
  std::vector<Extent> low(static_cast<size_t>(x.rank()) + 1, 0);
  std::vector<Extent> high = low;
  high[static_cast<size_t>(axis) + 1] = spread - 1;
  std::vector<Axis> to = x.shape().axes();
  to[static_cast<size_t>(axis)] = x.extent(axis) * spread;
  return reshape(pad(expand_dims(x, {axis + 1}), low, high, "constant", fill), to);
}

}  // namespace tenon::passes
