// Inputs of transposed convolutions are spread before they are convolved.
#pragma once

#include "tenon/graph.h"

namespace tenon::passes {

/// A convolution that puts zeros between the elements of its input becomes one over an input that has them: transposed
/// convolutions, and gradients of convolutions with strides. The zeros behind the last element are cropped by padding.
///   before: conv(x, w, x_dilation=[2])
///   after:  conv(reshape(pad(reshape(x, [n, c, h, 1]), high=[0, 0, 0, 1]), [n, c, 2*h]), w, high=[-1])
Graph spread_inputs(Graph graph);

}  // namespace tenon::passes
