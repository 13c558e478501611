// Types of ONNX that Tenon holds in eight bits: integers of two and four bits, and floats of four and eight.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "kernel/program/number_code.h"
#include "tenon/dtype.h"

namespace tenon::importer {

enum class Format : uint8_t { plain, int2, uint2, int4, uint4, e2m1, e4m3fn, e4m3fnuz, e5m2, e5m2fnuz, e8m0 };

/// That of ONNX's number of a type; plain for all that have a dtype of their own.
Format format_of(int64_t onnx_type);

/// The dtype that holds it: i8 for signed integers, else u8.
Dtype dtype_of(Format format);
/// How many bits an element takes in a file.
int bits_of(Format format);
bool is_narrow_float(Format format);
/// As ONNX calls it: "INT4", "FLOAT8E4M3FN".
std::string_view name_of(Format format);

/// That of a narrow float with a sign.
NumberCode code_of(Format format);
/// What each code of a narrow float means: 2 to the power of its bits.
std::vector<float> values_of(Format format);
/// The codes of its positive numbers ascend with them: where the step to code i + 1 is, rounding to the nearest, ties
/// to even. The last one is the step beyond the largest number.
std::vector<float> steps_of(Format format);
/// How many codes there are of a sign; those of the largest number, of what is beyond it and of NaN.
struct FormatCodes {
  int sign = 0;  // the bit; 0: there are no negative numbers
  int largest = 0;
  int beyond = 0;
  int nan = 0;
  bool negative_zero = false;
};
FormatCodes codes_of(Format format);

}  // namespace tenon::importer
