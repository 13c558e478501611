// Blocks of models whose steps may run tile by tile.
#pragma once

#include "tenon/graph.h"

namespace bench {

/// Two products with four times the width between them, a residual and a norm: x is f32[rows, hidden].
tenon::Graph dense_dense_norm(int64_t hidden);
// Of images, f32[batch, channels, height, width]:
tenon::Graph depthwise_pointwise(int64_t channels);
tenon::Graph inverted_residual(int64_t channels);
tenon::Graph two_convolutions(int64_t channels);
/// Four branches of 192 channels, side by side.
tenon::Graph inception();
/// Four norms with maps, f32[rows, 1024].
tenon::Graph norms();

}  // namespace bench
