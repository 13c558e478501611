// Heads of attention, in ONNX's own domain and in com.microsoft.
#pragma once

#include "tenon/ops.h"

namespace tenon::importer {

/// x[batch, seq, heads * depth] as [batch, heads, seq, depth], and back.
Value to_heads(const Value& x, int64_t heads);
Value from_heads(const Value& x);

/// The first pairs of x[batch, heads, seq, depth] turned by cosines and sines [batch, seq, pairs]; a pair is two
/// neighbours, or two elements that are `pairs` apart.
Value turned_by_tables(const Value& x, const Value& cosines, const Value& sines, bool interleaved);

}  // namespace tenon::importer
