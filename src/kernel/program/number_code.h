// What numbers of a few bits stand for.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace tenon {

/// An integer without sign, or a float of eight bits or fewer: a sign, an exponent and a mantissa. `fn`: nothing is
/// infinite, and NaN has all bits but the sign. `uz`: there is no negative zero; its code is the only NaN.
enum class NumberCode : uint8_t { integer, e2m1, e4m3fn, e4m3fnuz, e5m2, e5m2fnuz };

/// Of a float: how many bits the parts have behind the sign.
struct FloatLayout {
  int exponent = 0;
  int mantissa = 0;
  int bias = 0;

  constexpr int bits() const { return 1 + exponent + mantissa; }
};

constexpr FloatLayout layout_of(NumberCode code) {
  switch (code) {
    case NumberCode::integer: break;
    case NumberCode::e2m1: return {.exponent = 2, .mantissa = 1, .bias = 1};
    case NumberCode::e4m3fn: return {.exponent = 4, .mantissa = 3, .bias = 7};
    case NumberCode::e4m3fnuz: return {.exponent = 4, .mantissa = 3, .bias = 8};
    case NumberCode::e5m2: return {.exponent = 5, .mantissa = 2, .bias = 15};
    case NumberCode::e5m2fnuz: return {.exponent = 5, .mantissa = 2, .bias = 16};
  }
  return {};
}

/// "e4m3fn"; "" of integers.
std::string_view name_of(NumberCode code);

/// What each code of such a float means, in the order of the codes.
std::vector<float> values_of(NumberCode code);

}  // namespace tenon
