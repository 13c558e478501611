// Scales and zero points, as all quantised operators have them.
#pragma once

#include <optional>

#include "onnx/number_format.h"
#include "tenon/ops.h"

namespace tenon::importer {

/// `x`, numbers in units of the scale, rounded, beside the zero point (or none) and within the range of the dtype, or
/// of the integers of a few bits that it holds.
Value saturated(const Value& x, const Value& zero, Dtype dtype, Format format = Format::plain);

/// Whether a scale or zero point is one number, whatever its axes.
bool is_single(const Value& parameter);
/// One that has several numbers along one axis alone, as a vector; nothing for others.
std::optional<Value> as_vector(const Value& parameter);

/// What DynamicQuantizeLinear gives: integers u8, and scale and zero point of the range of x.
struct DynamicQuantised {
  Value x, scale, zero;
};
DynamicQuantised quantised_by_range(const Value& x);

}  // namespace tenon::importer
