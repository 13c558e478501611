#include "kernel/scalar/scalar_fn.h"

#include "base/fail.h"

namespace tenon {

bool contains(Domain domain, Dtype dtype) {
  switch (domain) {
    case Domain::floats: return is_float(dtype);
    case Domain::numbers: return is_float(dtype) || is_integer(dtype);
    case Domain::integers: return is_integer(dtype);
    case Domain::bits: return is_integer(dtype) || dtype == Dtype::boolean;
    case Domain::logical: return dtype == Dtype::boolean;
    case Domain::words: return dtype == Dtype::f32 || dtype == Dtype::f64 || dtype == Dtype::i32 || dtype == Dtype::i64;
    case Domain::any: return true;
  }
  TENON_CHECK(false);
}

std::string_view describe(Domain domain) {
  switch (domain) {
    case Domain::floats: return "a float dtype";
    case Domain::numbers: return "a number, not bool";
    case Domain::integers: return "an integer dtype";
    case Domain::bits: return "an integer or bool";
    case Domain::logical: return "bool";
    case Domain::words: return "f32, f64, i32 or i64";
    case Domain::any: return "any dtype";
  }
  TENON_CHECK(false);
}

Expr instantiate(const ScalarFn& fn, const std::vector<Dtype>& operands, Dtype given) {
  std::vector<Expr> args;
  args.reserve(operands.size());
  for (size_t i = 0; i < operands.size(); ++i) {
    args.push_back(expr::argument(static_cast<int>(i), compute_dtype(operands[i])));
  }
  if (fn.result == ResultRule::given) {
    // Casting to a half type rounds when the result is stored; until then it is the compute dtype, which must hold what
    // is rounded: else it is rounded at once.
    const bool fits = operands[0] == Dtype::f32 || byte_size(operands[0]) < byte_size(Dtype::f32);
    const Expr rounded = fits ? args[0] : expr::cast(args[0], given);
    return expr::cast(rounded, compute_dtype(given));
  }
  return fn.value(args);
}

}  // namespace tenon
