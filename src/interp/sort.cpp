#include <algorithm>
#include <cmath>

#include "base/convert.h"
#include "interp/evaluate.h"
#include "interp/index.h"
#include "interp/view_map.h"
#include "ops/axes.h"

namespace tenon {
namespace {

/// Whether `a` comes before `b`; NaN is the largest.
template <class T>
bool before(T a, T b, bool descending) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) {
      return descending ? std::isnan(a) && !std::isnan(b) : !std::isnan(a) && std::isnan(b);
    }
  }
  return descending ? b < a : a < b;
}

}  // namespace

Arrays evaluate(const Sort& op, const Evaluation& e) {
  const Array& key = e.inputs[0];
  const Index strides = strides_of(key.dims());
  const int64_t stride = strides[static_cast<size_t>(op.axis)];
  const std::vector<int> others = other_axes(key.rank(), {op.axis});
  const Index other_strides = pick(strides, others);
  // For every place, where its element comes from: the same for all operands.
  std::vector<int64_t> source(static_cast<size_t>(key.size()));
  visit_dtype(key.dtype(), [&]<class T>() {
    using C = ComputeType<T>;
    const auto keys = key.values<T>();
    const auto key_at = [&](int64_t position) { return convert<C>(keys[static_cast<size_t>(position)]); };
    for_each_index(pick(key.dims(), others), [&](const Index& index, int64_t) {
      const int64_t first = dot(index, other_strides);
      std::vector<int64_t> line(static_cast<size_t>(key.dims()[static_cast<size_t>(op.axis)]));
      for (size_t i = 0; i < line.size(); ++i) {
        line[i] = first + static_cast<int64_t>(i) * stride;
      }
      std::vector<int64_t> ordered = line;
      // Equal keys keep the order of their positions, which makes the order total and the sort stable.
      std::ranges::sort(ordered, [&](int64_t one, int64_t other) {
        const auto x = key_at(one);
        const auto y = key_at(other);
        return before(x, y, op.descending) || (!before(y, x, op.descending) && one < other);
      });
      for (size_t i = 0; i < line.size(); ++i) {
        source[static_cast<size_t>(line[i])] = ordered[i];
      }
    });
  });
  Arrays results;
  for (const Array& in : e.inputs) {
    results.push_back(gather_elements(in, source, in.dims(), {}));
  }
  return results;
}

}  // namespace tenon
