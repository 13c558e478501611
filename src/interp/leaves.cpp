// Inputs, constants, counting; and the kinds that only pass values on.
#include "base/convert.h"
#include "base/fail.h"
#include "interp/evaluate.h"
#include "interp/index.h"

namespace tenon {

Arrays evaluate(const Input& op, const Evaluation&) { TENON_CHECK(false, "input {} has no value", op.name); }

Arrays evaluate(const Constant& op, const Evaluation& e) { return {op.value.cast(e.dtype(op.value.dtype()))}; }

Arrays evaluate(const Iota& op, const Evaluation& e) {
  Array out = e.output();
  const int64_t start = evaluate(op.start, e.bindings);
  const int64_t step = evaluate(op.step, e.bindings);
  visit_dtype(out.dtype(), [&]<class T>() {
    auto values = out.mutable_values<T>();
    for_each_index(out.dims(), [&](const Index& index, int64_t i) {
      const uint64_t along = index.empty() ? 0 : static_cast<uint64_t>(index[static_cast<size_t>(op.axis)]);
      // Unsigned, so that a count beyond 64 bits wraps like every integer operation.
      const uint64_t value = static_cast<uint64_t>(start) + static_cast<uint64_t>(step) * along;
      values[static_cast<size_t>(i)] = convert<T>(static_cast<int64_t>(value));
    });
  });
  return {out};
}

Arrays evaluate(const Call& op, const Evaluation& e) {
  return evaluate_graph(op.body, e.inputs, e.bindings, e.reference);
}

Arrays evaluate(const Barrier&, const Evaluation& e) { return e.inputs; }

}  // namespace tenon
