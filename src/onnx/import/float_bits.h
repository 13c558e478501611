// Floats as the integers that their bits are.
#pragma once

#include "tenon/ops.h"

namespace tenon::importer {

/// The bits of floats as integers of as many bits. A NaN of f16 and bf16 comes as a quiet one: half types are computed
/// in f32, which makes all of them so.
Value bits_of(const Value& x);

/// The floats of `to` whose bits these integers are; they have as many bits as `to`.
Value from_bits(const Value& integers, Dtype to);

}  // namespace tenon::importer
