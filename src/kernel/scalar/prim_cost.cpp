#include "kernel/scalar/prim_cost.h"

namespace tenon {

int cost(Prim prim, Dtype dtype) {
  switch (prim) {
    case Prim::argument:
    case Prim::constant: return 0;
    case Prim::div:
    case Prim::sqrt: return is_float(dtype) ? 3 : 20;
    case Prim::rem: return 20;
    case Prim::exp:
    case Prim::exp_normal:
    case Prim::tanh: return dtype == Dtype::f64 ? 100 : 12;
    case Prim::expm1:
    case Prim::log:
    case Prim::log1p:
    case Prim::sin:
    case Prim::cos:
    case Prim::erf: return dtype == Dtype::f64 ? 100 : 18;
    case Prim::atan2:
    case Prim::pow: return dtype == Dtype::f64 ? 100 : 30;
    case Prim::mul: return dtype == Dtype::i64 || dtype == Dtype::u64 ? 3 : 1;
    default: return 1;
  }
}

bool is_heavy(Prim prim) { return cost(prim, Dtype::f32) >= 10; }

}  // namespace tenon
