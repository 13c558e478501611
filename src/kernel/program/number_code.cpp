#include "kernel/program/number_code.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tenon {

std::string_view name_of(NumberCode code) {
  switch (code) {
    case NumberCode::integer: break;
    case NumberCode::e2m1: return "e2m1";
    case NumberCode::e4m3fn: return "e4m3fn";
    case NumberCode::e4m3fnuz: return "e4m3fnuz";
    case NumberCode::e5m2: return "e5m2";
    case NumberCode::e5m2fnuz: return "e5m2fnuz";
  }
  return "";
}

std::vector<float> values_of(NumberCode code) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  const FloatLayout layout = layout_of(code);
  const int sign = 1 << (layout.bits() - 1);
  std::vector<float> values;
  for (int bits = 0; bits < 2 * sign; ++bits) {
    const int positive = bits & (sign - 1);
    const int mantissa = positive & ((1 << layout.mantissa) - 1);
    const int exponent = positive >> layout.mantissa;
    const int whole = mantissa + (exponent == 0 ? 0 : 1 << layout.mantissa);
    float value = std::ldexp(static_cast<float>(whole), std::max(exponent, 1) - layout.bias - layout.mantissa);
    const bool is_last = exponent == (1 << layout.exponent) - 1;
    if (code == NumberCode::e5m2 && is_last) {
      value = mantissa == 0 ? std::numeric_limits<float>::infinity() : nan;
    } else if (code == NumberCode::e4m3fn && positive == sign - 1) {
      value = nan;
    } else if ((code == NumberCode::e4m3fnuz || code == NumberCode::e5m2fnuz) && bits == sign) {
      value = nan;
    }
    values.push_back(bits < sign ? value : -value);
  }
  return values;
}

}  // namespace tenon
