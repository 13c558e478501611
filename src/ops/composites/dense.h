// The product inside every composite that projects its last axis.
#pragma once

#include "tenon/graph.h"

namespace tenon {

/// x w + bias for x[..., in], w[in, out] and bias[out] or none, in the wide dtype: the caller rounds.
Value project(const Value& x, const Value& w, const Value& bias);

}  // namespace tenon
