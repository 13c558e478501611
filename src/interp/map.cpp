#include <cstring>

#include "interp/evaluate.h"
#include "kernel/scalar/scalar_eval.h"

namespace tenon {

Arrays evaluate(const Map& op, const Evaluation& e) {
  if (op.fn->result == ResultRule::given) {
    return {e.inputs[0].cast(e.dtype(op.dtype))};  // from any dtype to any other, rounding once
  }
  if (op.fn->result == ResultRule::bits) {  // those of the graph's dtype, also where floats are computed in f64
    const Array given = e.inputs[0].cast(reinterpreted(op.dtype));
    Array out(op.dtype, e.dims());
    std::memcpy(out.mutable_data(), given.data(), given.byte_count());
    return {out.cast(e.dtype(op.dtype))};
  }
  std::vector<Dtype> dtypes;
  Arrays widened;  // half types are computed in f32
  std::vector<const std::byte*> args;
  for (const Array& in : e.inputs) {
    dtypes.push_back(in.dtype());
    widened.push_back(in.cast(compute_dtype(in.dtype())));
  }
  for (const Array& in : widened) {
    args.push_back(in.data());
  }
  const Expr value = instantiate(*op.fn, dtypes, e.dtype(op.dtype));
  Array out(value.dtype(), e.dims());
  std::byte* result = out.mutable_data();
  evaluate(flatten({value}), args, std::span(&result, 1), out.size());
  return {out.cast(e.dtype(op.dtype))};
}

}  // namespace tenon
