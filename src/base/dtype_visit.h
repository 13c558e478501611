// From a run-time Dtype to its C++ storage type.
#pragma once

#include <cstdint>
#include <type_traits>

#include "base/fail.h"
#include "tenon/dtype.h"

namespace tenon {

/// Call `f.template operator()<T>()` with the storage type of `dtype`.
template <class F>
decltype(auto) visit_dtype(Dtype dtype, F&& f) {
  switch (dtype) {
    case Dtype::f32: return f.template operator()<float>();
    case Dtype::f64: return f.template operator()<double>();
    case Dtype::f16: return f.template operator()<Half>();
    case Dtype::bf16: return f.template operator()<BFloat16>();
    case Dtype::i8: return f.template operator()<int8_t>();
    case Dtype::i16: return f.template operator()<int16_t>();
    case Dtype::i32: return f.template operator()<int32_t>();
    case Dtype::i64: return f.template operator()<int64_t>();
    case Dtype::u8: return f.template operator()<uint8_t>();
    case Dtype::u16: return f.template operator()<uint16_t>();
    case Dtype::u32: return f.template operator()<uint32_t>();
    case Dtype::u64: return f.template operator()<uint64_t>();
    case Dtype::boolean: return f.template operator()<bool>();
  }
  TENON_CHECK(false, "dtype {}", static_cast<int>(dtype));
}

/// The type arithmetic on a stored T is done in: float for the half types.
template <class T>
using ComputeType = std::conditional_t<is_half_type<T>, float, T>;

}  // namespace tenon
