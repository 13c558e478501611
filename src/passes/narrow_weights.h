// Weights in fewer bits than what they are multiplied with.
#pragma once

#include "tenon/graph.h"
#include "tenon/precision.h"

namespace tenon::passes {

/// Keep the constant f32 matrices of products as `dtype`, rounded to nearest: a product of few rows takes as long as
/// its weights take to be read. Sums are of f32 as before.
///   bf16, f16   before: matmul(x, w)   after: matmul(x, cast(w'))                 and so for all who read w
///   i8          before: matmul(x, w)   after: mul(matmul(x, cast(w')), scale)     a scale for each column of w
///   i4          before: matmul(x, w)   after: product of few bits(x, w', scales)  one for each 32 numbers of a column
/// Left alone: small constants, weights of convolutions, numbers that are not finite or that would be an infinity;
/// those of batches of products are i8 where i4 is asked for. Error: another dtype.
Graph narrow_weights(const Graph& graph, WeightFormat format);

}  // namespace tenon::passes
