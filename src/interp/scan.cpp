#include "base/convert.h"
#include "interp/evaluate.h"
#include "interp/index.h"
#include "kernel/scalar/accumulate.h"
#include "ops/axes.h"

namespace tenon {
namespace {

template <class A>
A continued(ReduceOp op, A a, A b) {
  switch (op) {
    case ReduceOp::sum: return running_sum(a, b);
    case ReduceOp::product: return running_product(a, b);
    default: return running_extreme(a, b, op == ReduceOp::max);
  }
}

}  // namespace

Arrays evaluate(const Scan& op, const Evaluation& e) {
  const Array& in = e.inputs[0];
  const Index strides = strides_of(in.dims());
  const auto axis = static_cast<size_t>(op.axis);
  const std::vector<int> others = other_axes(in.rank(), {op.axis});
  const Index other_strides = pick(strides, others);
  const int64_t count = in.dims()[axis];
  Array out = e.output();
  visit_dtype(in.dtype(), [&]<class T>() {
    if constexpr (!std::is_same_v<T, bool>) {
      const auto x = in.values<T>();
      auto result = out.mutable_values<T>();
      for_each_index(pick(in.dims(), others), [&](const Index& index, int64_t) {
        Running<T> running = start_of<T>(op.op);
        for (int64_t i = 0; i < count; ++i) {
          const int64_t along = op.reverse ? count - 1 - i : i;
          const auto at = static_cast<size_t>(dot(index, other_strides) + along * strides[axis]);
          const Running<T> next = continued(op.op, running, convert<Running<T>>(x[at]));
          result[at] = convert<T>(op.exclusive ? running : next);
          running = next;
        }
      });
    }
  });
  return {out};
}

}  // namespace tenon
