// Element types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

#include "tenon/half.h"

namespace tenon {

enum class Dtype : uint8_t { f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, boolean };
using enum Dtype;

inline constexpr int kDtypeCount = 13;

/// "f32", "bf16", "bool": the spelling of the text form.
std::string_view name(Dtype dtype);
std::optional<Dtype> parse_dtype(std::string_view text);

/// Bytes of one element; bool takes one byte, 0 or 1.
size_t byte_size(Dtype dtype);

bool is_float(Dtype dtype);
bool is_signed_integer(Dtype dtype);
bool is_unsigned_integer(Dtype dtype);
inline bool is_integer(Dtype dtype) { return is_signed_integer(dtype) || is_unsigned_integer(dtype); }

/// The type that arithmetic on `dtype` is done in: f32 for the half types, itself for all others.
Dtype compute_dtype(Dtype dtype);

template <class T>
inline constexpr bool is_half_type = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

template <class T>
inline constexpr bool is_float_type = std::is_floating_point_v<T> || is_half_type<T>;

/// The dtype whose elements are stored as T.
template <class T>
constexpr Dtype dtype_of() {
  if constexpr (std::is_same_v<T, float>) {
    return Dtype::f32;
  } else if constexpr (std::is_same_v<T, double>) {
    return Dtype::f64;
  } else if constexpr (std::is_same_v<T, Half>) {
    return Dtype::f16;
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return Dtype::bf16;
  } else if constexpr (std::is_same_v<T, bool>) {
    return Dtype::boolean;
  } else {
    static_assert(std::is_integral_v<T>, "no dtype is stored as T");
    constexpr Dtype narrow = std::is_signed_v<T> ? Dtype::i8 : Dtype::u8;
    constexpr int log2_bytes = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
    return static_cast<Dtype>(static_cast<int>(narrow) + log2_bytes);
  }
}

}  // namespace tenon
