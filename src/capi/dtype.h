// The numbers of dtypes in tenon/c.h, which never change, are those of tenon::Dtype.
#pragma once

#include "tenon/c.h"
#include "tenon/dtype.h"

namespace tenon::capi {

constexpr bool is(Dtype dtype, tenon_dtype number) { return static_cast<tenon_dtype>(dtype) == number; }

static_assert(is(Dtype::f32, TENON_F32) && is(Dtype::f64, TENON_F64) && is(Dtype::f16, TENON_F16) &&
              is(Dtype::bf16, TENON_BF16) && is(Dtype::i8, TENON_I8) && is(Dtype::i16, TENON_I16) &&
              is(Dtype::i32, TENON_I32) && is(Dtype::i64, TENON_I64) && is(Dtype::u8, TENON_U8) &&
              is(Dtype::u16, TENON_U16) && is(Dtype::u32, TENON_U32) && is(Dtype::u64, TENON_U64) &&
              is(Dtype::boolean, TENON_BOOL));
static_assert(kDtypeCount == TENON_BOOL + 1);

constexpr bool is_dtype(tenon_dtype number) { return number >= 0 && number < kDtypeCount; }

}  // namespace tenon::capi
