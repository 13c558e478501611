// Dense layers: a product with what comes after it.
#include "ops/composites/dense.h"

#include "base/refused.h"
#include "ops/axes.h"
#include "ops/composites/composite.h"
#include "ops/scalar/scalar_table.h"
#include "tenon/nn.h"

namespace tenon {

Value project(const Value& x, const Value& w, const Value& bias) {
  require_float(x, "x");
  require_float(w, "w");
  if (x.rank() < 1 || w.rank() != 2) {
    refuse("`w` has rank {}, must be [in, out] for x[..., in]", w.rank());
  }
  const Value product = contract(x, w, {.lhs_contract = {-1}, .rhs_contract = {0}}, compute_dtype(x.dtype()));
  if (!bias) {
    return product;
  }
  std::vector<Constraint> unused;
  match_axes(w, 1, bias, bias.shape().normalize_axis(-1), unused);
  return product + along_axes(widen(bias), product.rank(), {product.rank() - 1}, "bias");
}

namespace {

Value activate(const Value& x, std::string_view activation) {
  if (activation.empty()) {
    return x;
  }
  const ScalarFn* fn = find_scalar_fn(activation);
  if (fn == nullptr) {
    refuse("there is no elementwise function called `{}`", activation);
  }
  if (fn->arity != 1 || fn->result != ResultRule::same) {
    refuse("`{}` is no activation: it must take one number and give one", activation);
  }
  return map(activation, {x});
}

Value gated(std::string_view name, std::string_view activation, const Value& x, const Value& w_gate, const Value& w_up,
            const Value& w_down) {
  const std::vector<NamedPart> parts{{"x", x}, {"w_gate", w_gate}, {"w_up", w_up}, {"w_down", w_down}};
  return composite_of(name, parts, [&](const Parts& in) {
    const Value hidden = activate(project(in[0], in[1], {}), activation) * project(in[0], in[2], {});
    return cast(project(cast(hidden, x.dtype()), in[3], {}), x.dtype());
  });
}

}  // namespace

Value dense(const Value& x, const Value& w, const Value& bias, std::string_view activation) {
  return composite_of("dense", {{"x", x}, {"w", w}, {"bias", bias}}, [&](const Parts& in) {
    return cast(activate(project(in[0], in[1], in[2]), activation), x.dtype());
  });
}

Value swiglu(const Value& x, const Value& w_gate, const Value& w_up, const Value& w_down) {
  return gated("swiglu", "silu", x, w_gate, w_up, w_down);
}

Value geglu(const Value& x, const Value& w_gate, const Value& w_up, const Value& w_down) {
  return gated("geglu", "gelu", x, w_gate, w_up, w_down);
}

}  // namespace tenon
