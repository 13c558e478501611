// Floats of eight and four bits as the codes that hold them.
#pragma once

#include "onnx/number_format.h"
#include "tenon/ops.h"

namespace tenon::importer {

/// What the codes mean, in f32.
Value decoded(const Value& codes, Format format);

/// The codes of numbers: to the nearest, ties to even (e8m0: up). What is beyond the largest number becomes it, or
/// unless `saturate`, infinity or NaN, as the format has it.
Value encoded(const Value& numbers, Format format, bool saturate);

}  // namespace tenon::importer
