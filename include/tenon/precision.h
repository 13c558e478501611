// How exactly products are computed.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

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

}  // namespace tenon
