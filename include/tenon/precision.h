// How exactly products are computed.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "tenon/dtype.h"

namespace tenon {

/// What the f32 operands of products and convolutions are rounded to, to nearest, before they are multiplied; sums stay
/// f32. tf32 keeps the range of f32 and 10 bits behind the leading one; f16 has as many and makes infinities of what is
/// above 65504; bf16 has the range and 7 bits.
enum class Precision : uint8_t { f32, tf32, bf16, f16 };

/// "f32", "tf32", "bf16", "f16".
constexpr std::string_view name(Precision precision) {
  switch (precision) {
    case Precision::tf32: return "tf32";
    case Precision::bf16: return "bf16";
    case Precision::f16: return "f16";
    default: return "f32";
  }
}

constexpr std::optional<Precision> parse_precision(std::string_view text) {
  for (const Precision each : {Precision::f32, Precision::tf32, Precision::bf16, Precision::f16}) {
    if (name(each) == text) return each;
  }
  return std::nullopt;
}

/// How the constant matrices of f32 products are kept: bf16, f16, i8 with a scale for each column, or i4 with a scale
/// for each 32 numbers of a column. `bits` are those of a number where they are fewer than the dtype's.
struct WeightFormat {
  Dtype dtype = Dtype::bf16;
  int bits = 0;

  constexpr WeightFormat(Dtype of, int of_bits = 0) : dtype(of), bits(of_bits) {}  // NOLINT: a dtype is a format

  friend bool operator==(const WeightFormat&, const WeightFormat&) = default;
};

inline constexpr WeightFormat kFourBits{Dtype::i8, 4};

/// "bf16", "f16", "i8", "i4".
constexpr std::string_view name(WeightFormat format) { return format == kFourBits ? "i4" : name(format.dtype); }

/// Nothing where the text is no such name.
constexpr std::optional<WeightFormat> parse_weight_format(std::string_view text) {
  for (const WeightFormat each :
       {WeightFormat(Dtype::bf16), WeightFormat(Dtype::f16), WeightFormat(Dtype::i8), kFourBits}) {
    if (name(each) == text) return each;
  }
  return std::nullopt;
}

}  // namespace tenon
