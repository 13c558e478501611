#include <algorithm>
#include <memory>

#include "base/convert.h"
#include "interp/evaluate.h"
#include "interp/gather_map.h"
#include "kernel/scalar/accumulate.h"

namespace tenon {
namespace {

template <class A>
A apply(ScatterOp op, A old, A update) {
  switch (op) {
    case ScatterOp::set: return update;
    case ScatterOp::add: return running_sum(old, update);
    case ScatterOp::mul: return running_product(old, update);
    case ScatterOp::max:
    case ScatterOp::min: return running_extreme(old, update, op == ScatterOp::max);
  }
  TENON_CHECK(false);
}

}  // namespace

Arrays evaluate(const Scatter& op, const Evaluation& e) {
  const Array& x = e.inputs[0];
  const Array& update = e.inputs[1];
  const Gather picking{op.axes, op.x_batch, op.index_batch};
  const auto places = gather_map(picking, x.dims(), std::span(e.inputs).subspan(2), update.dims(), "scatter");
  Array out = e.output();
  visit_dtype(out.dtype(), [&]<class T>() {
    using A = Running<T>;
    const auto old = x.values<T>();
    // Not std::vector<A>: that of bool has no elements to write to.
    const auto sums = std::make_unique<A[]>(old.size());
    std::transform(old.begin(), old.end(), sums.get(), [](T v) { return convert<A>(v); });
    const auto given = update.values<T>();
    for (size_t i = 0; i < places.size(); ++i) {
      A& sum = sums[static_cast<size_t>(places[i])];
      sum = apply(op.op, sum, convert<A>(given[i]));
    }
    std::transform(sums.get(), sums.get() + old.size(), out.mutable_values<T>().begin(),
                   [](A v) { return convert<T>(v); });
  });
  return {out};
}

}  // namespace tenon
