// Weights in fewer bits than what they are multiplied with.
#pragma once

#include "tenon/dtype.h"
#include "tenon/graph.h"

namespace tenon::passes {

/// Keep the constant f32 matrices of products as `dtype`, rounded to nearest: a product of few rows takes as long as
/// its weights take to be read. Sums are of f32 as before.
///   bf16, f16   before: matmul(x, w)   after: matmul(x, cast(w'))                 and so for all who read w
///   i8          before: matmul(x, w)   after: mul(matmul(x, cast(w')), scale)     a scale for each column of w
/// Left alone: small constants, weights of convolutions, numbers that are not finite or that would be an infinity.
/// Error: another dtype.
Graph narrow_weights(const Graph& graph, Dtype dtype);

}  // namespace tenon::passes
