#include "onnx/number_format.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/fail.h"

namespace tenon::importer {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// As if no code stood for anything but a number.
float magnitude(const FloatLayout& layout, int code) {
  const int mantissa = code & ((1 << layout.mantissa) - 1);
  const int exponent = code >> layout.mantissa;
  const int hidden = exponent == 0 ? 0 : 1 << layout.mantissa;
  return std::ldexp(static_cast<float>(hidden + mantissa), std::max(exponent, 1) - layout.bias - layout.mantissa);
}

}  // namespace

Format format_of(int64_t onnx_type) {
  switch (onnx_type) {
    case 17: return Format::e4m3fn;
    case 18: return Format::e4m3fnuz;
    case 19: return Format::e5m2;
    case 20: return Format::e5m2fnuz;
    case 21: return Format::uint4;
    case 22: return Format::int4;
    case 23: return Format::e2m1;
    case 24: return Format::e8m0;
    case 25: return Format::uint2;
    case 26: return Format::int2;
    default: return Format::plain;
  }
}

Dtype dtype_of(Format format) { return format == Format::int2 || format == Format::int4 ? Dtype::i8 : Dtype::u8; }

int bits_of(Format format) {
  switch (format) {
    case Format::int2:
    case Format::uint2: return 2;
    case Format::int4:
    case Format::uint4:
    case Format::e2m1: return 4;
    default: return 8;
  }
}

std::string_view name_of(Format format) {
  switch (format) {
    case Format::plain: return "plain";
    case Format::int2: return "INT2";
    case Format::uint2: return "UINT2";
    case Format::int4: return "INT4";
    case Format::uint4: return "UINT4";
    case Format::e2m1: return "FLOAT4E2M1";
    case Format::e4m3fn: return "FLOAT8E4M3FN";
    case Format::e4m3fnuz: return "FLOAT8E4M3FNUZ";
    case Format::e5m2: return "FLOAT8E5M2";
    case Format::e5m2fnuz: return "FLOAT8E5M2FNUZ";
    case Format::e8m0: return "FLOAT8E8M0";
  }
  TENON_CHECK(false);
}

NumberCode code_of(Format format) {
  switch (format) {
    case Format::e2m1: return NumberCode::e2m1;
    case Format::e4m3fn: return NumberCode::e4m3fn;
    case Format::e4m3fnuz: return NumberCode::e4m3fnuz;
    case Format::e5m2: return NumberCode::e5m2;
    case Format::e5m2fnuz: return NumberCode::e5m2fnuz;
    default: return NumberCode::integer;
  }
}

bool is_narrow_float(Format format) { return format >= Format::e2m1; }

FormatCodes codes_of(Format format) {
  switch (format) {
    case Format::e2m1: return {0x8, 0x7, 0x7, 0x8, true};  // it has no NaN: ONNX makes it -0
    case Format::e4m3fn: return {0x80, 0x7E, 0x7F, 0x7F, true};
    case Format::e4m3fnuz: return {0x80, 0x7F, 0x80, 0x80, false};
    case Format::e5m2: return {0x80, 0x7B, 0x7C, 0x7E, true};
    case Format::e5m2fnuz: return {0x80, 0x7F, 0x80, 0x80, false};
    case Format::e8m0: return {0, 0xFE, 0xFF, 0xFF, false};
    default: return {};
  }
}

std::vector<float> values_of(Format format) {
  if (format != Format::e8m0) {
    return tenon::values_of(code_of(format));
  }
  std::vector<float> values;
  const FormatCodes codes = codes_of(format);
  for (int code = 0; code <= codes.nan; ++code) {
    values.push_back(code == codes.nan ? kNan : std::ldexp(1.0F, code - 127));
  }
  return values;
}

std::vector<float> steps_of(Format format) {
  std::vector<float> steps;
  const FormatCodes codes = codes_of(format);
  if (format == Format::e8m0) {  // rounded up
    for (int code = 0; code <= codes.largest; ++code) {
      steps.push_back(std::ldexp(1.0F, code - 127));
    }
    return steps;
  }
  const FloatLayout layout = layout_of(code_of(format));
  for (int code = 0; code <= codes.largest; ++code) {
    const float middle = (magnitude(layout, code) + magnitude(layout, code + 1)) / 2;
    // A number steps up where it is larger than this: a tie does so from an odd code.
    steps.push_back(code % 2 == 0 ? middle : std::nextafterf(middle, 0));
  }
  return steps;
}

}  // namespace tenon::importer
