// Storage types of f16 and bf16: bits with exact conversion to float and round-to-nearest-even back.
#pragma once

#include <bit>
#include <cstdint>

namespace tenon {

/// IEEE 754 binary16.
struct Half {
  uint16_t bits = 0;

  Half() = default;
  explicit Half(float value);
  explicit operator float() const;
  static Half from_bits(uint16_t bits) {
    Half h;
    h.bits = bits;
    return h;
  }
};

/// The upper half of a binary32.
struct BFloat16 {
  uint16_t bits = 0;

  BFloat16() = default;
  explicit BFloat16(float value);
  explicit operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
  static BFloat16 from_bits(uint16_t bits) {
    BFloat16 b;
    b.bits = bits;
    return b;
  }
};

}  // namespace tenon
