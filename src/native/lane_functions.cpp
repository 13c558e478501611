#include "native/lane_functions.h"

#include <cstdint>

#include "base/fail.h"
#include "kernel/scalar/scalar_ops.h"

namespace tenon::codegen {
namespace {

template <class T, Prim P>
void unary(T* x, int64_t count) {
  scalar::visit_unary<T>(P, [&](auto f) {
    for (int64_t i = 0; i < count; ++i) {
      x[i] = f(x[i]);
    }
  });
}

template <class T, Prim P>
void binary(T* x, const T* y, int64_t count) {
  scalar::visit_binary<T>(P, [&](auto f) {
    for (int64_t i = 0; i < count; ++i) {
      x[i] = f(x[i], y[i]);
    }
  });
}

template <class T, Prim P>
LaneFunction row(std::string_view symbol) {
  constexpr bool is_binary = P == Prim::rem || P == Prim::atan2 || P == Prim::pow;
  void* address = nullptr;
  if constexpr (is_binary) {
    address = reinterpret_cast<void*>(&binary<T, P>);
  } else {
    address = reinterpret_cast<void*>(&unary<T, P>);
  }
  return {P, dtype_of<T>(), symbol, address};
}

}  // namespace

std::span<const LaneFunction> lane_functions() {
  static const LaneFunction rows[] = {
      row<double, Prim::exp>("tenon_exp_f64"),     row<double, Prim::exp_normal>("tenon_exp_normal_f64"),
      row<double, Prim::expm1>("tenon_expm1_f64"), row<double, Prim::log>("tenon_log_f64"),
      row<double, Prim::log1p>("tenon_log1p_f64"), row<double, Prim::sin>("tenon_sin_f64"),
      row<double, Prim::cos>("tenon_cos_f64"),     row<double, Prim::tanh>("tenon_tanh_f64"),
      row<double, Prim::erf>("tenon_erf_f64"),     row<double, Prim::atan2>("tenon_atan2_f64"),
      row<double, Prim::pow>("tenon_pow_f64"),     row<double, Prim::rem>("tenon_rem_f64"),
      row<float, Prim::rem>("tenon_rem_f32"),      row<float, Prim::sin>("tenon_sin_f32"),
      row<float, Prim::cos>("tenon_cos_f32"),      row<int8_t, Prim::pow>("tenon_pow_i8"),
      row<int16_t, Prim::pow>("tenon_pow_i16"),    row<int32_t, Prim::pow>("tenon_pow_i32"),
      row<int64_t, Prim::pow>("tenon_pow_i64"),    row<uint8_t, Prim::pow>("tenon_pow_u8"),
      row<uint16_t, Prim::pow>("tenon_pow_u16"),   row<uint32_t, Prim::pow>("tenon_pow_u32"),
      row<uint64_t, Prim::pow>("tenon_pow_u64"),
  };
  return rows;
}

std::string_view lane_symbol(Prim prim, Dtype dtype) {
  for (const LaneFunction& function : lane_functions()) {
    if (function.prim == prim && function.dtype == dtype) {
      return function.symbol;
    }
  }
  TENON_CHECK(false, "{} of {} has no function over lanes", name(prim), name(dtype));
}

}  // namespace tenon::codegen
