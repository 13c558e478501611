// Scales and shifts of a product move into its weights.
#pragma once

#include "tenon/graph.h"

namespace tenon::passes {

/// Fold what follows a convolution or a product with constant weights, as far as it scales and shifts each output
/// channel by constants, into the weights and one bias. Batch normalisation with given moments is that, as a composite
/// or written out.
///   before: batch_norm(conv(x, w), scale, bias, mean, variance)   after: add(conv(x, w'), b')
///   before: mul(add(matmul(x, w), b), s)                          after: add(matmul(x, w'), b')
/// Left alone: weights or factors that are no constants, a product or weights that others read too, factors along
/// another axis than one of the weights', factors that are not finite, half types (scaled weights would round).
Graph fold_batch_norm(Graph graph);

}  // namespace tenon::passes
