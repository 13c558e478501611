#include <algorithm>

#include "base/convert.h"
#include "interp/evaluate.h"
#include "interp/view_map.h"
#include "ops/axes.h"

namespace tenon {
namespace {

/// `x` with its axes in the order batch, then `second`, then `third`, as elements of A.
template <class A>
std::vector<A> arrange(const Array& x, const std::vector<int>& batch, const std::vector<int>& second,
                       const std::vector<int>& third) {
  std::vector<int> order = batch;
  order.insert(order.end(), second.begin(), second.end());
  order.insert(order.end(), third.begin(), third.end());
  const Array moved = transposed(x, order);
  std::vector<A> result(static_cast<size_t>(moved.size()));
  visit_dtype(moved.dtype(), [&]<class T>() {
    std::ranges::transform(moved.values<T>(), result.begin(), [](T v) { return convert<A>(v); });
  });
  return result;
}

/// out[b, m, n] = sum over k of lhs[b, m, k] * rhs[b, k, n], in A.
template <class A>
void multiply(const Contract& op, const Evaluation& e, Array& out) {
  const Array& lhs = e.inputs[0];
  const Array& rhs = e.inputs[1];
  const std::vector<int> lhs_free = other_axes(lhs.rank(), op.lhs_batch, op.lhs_contract);
  const std::vector<int> rhs_free = other_axes(rhs.rank(), op.rhs_batch, op.rhs_contract);
  const auto a = arrange<A>(lhs, op.lhs_batch, lhs_free, op.lhs_contract);
  const auto b = arrange<A>(rhs, op.rhs_batch, op.rhs_contract, rhs_free);
  const auto batch = static_cast<size_t>(count_of(pick(lhs.dims(), op.lhs_batch)));
  const auto rows = static_cast<size_t>(count_of(pick(lhs.dims(), lhs_free)));
  const auto columns = static_cast<size_t>(count_of(pick(rhs.dims(), rhs_free)));
  const auto depth = static_cast<size_t>(count_of(pick(lhs.dims(), op.lhs_contract)));
  std::vector<A> line(columns);
  for (size_t row = 0; row < batch * rows; ++row) {
    std::ranges::fill(line, A{});
    const A* right = b.data() + row / std::max<size_t>(rows, 1) * depth * columns;
    for (size_t k = 0; k < depth; ++k) {
      const A left = a[row * depth + k];
      for (size_t n = 0; n < columns; ++n) {
        line[n] += left * right[k * columns + n];
      }
    }
    visit_dtype(out.dtype(), [&]<class T>() {
      std::ranges::transform(line, out.mutable_values<T>().begin() + static_cast<int64_t>(row * columns),
                             [](A v) { return convert<T>(v); });
    });
  }
}

}  // namespace

Arrays evaluate(const Contract& op, const Evaluation& e) {
  Array out = e.output();
  // Floats accumulate in f64 and round once; integers wrap.
  if (is_float(out.dtype())) {
    multiply<double>(op, e, out);
  } else {
    multiply<uint64_t>(op, e, out);
  }
  return {out};
}

}  // namespace tenon
