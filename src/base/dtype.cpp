#include "tenon/dtype.h"

#include <array>

#include "base/dtype_visit.h"

namespace tenon {
namespace {

constexpr std::array<std::string_view, kDtypeCount> kNames = {"f32", "f64", "f16", "bf16", "i8",  "i16", "i32",
                                                              "i64", "u8",  "u16", "u32",  "u64", "bool"};

}  // namespace

std::string_view name(Dtype dtype) { return kNames.at(static_cast<size_t>(dtype)); }

std::optional<Dtype> parse_dtype(std::string_view text) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == text) {
      return static_cast<Dtype>(i);
    }
  }
  return std::nullopt;
}

size_t byte_size(Dtype dtype) {
  return visit_dtype(dtype, []<class T>() { return sizeof(T); });
}

bool is_float(Dtype dtype) {
  return visit_dtype(dtype, []<class T>() { return is_float_type<T>; });
}

bool is_signed_integer(Dtype dtype) {
  return visit_dtype(dtype, []<class T>() { return std::is_integral_v<T> && std::is_signed_v<T>; });
}

bool is_unsigned_integer(Dtype dtype) {
  return visit_dtype(dtype, []<class T>() { return std::is_unsigned_v<T> && !std::is_same_v<T, bool>; });
}

Dtype compute_dtype(Dtype dtype) {
  return visit_dtype(dtype, []<class T>() { return dtype_of<ComputeType<T>>(); });
}

}  // namespace tenon
