// Convolutions with gaps between the elements of their inputs become ones without.
#pragma once

#include "tenon/graph.h"

namespace tenon::passes {

/// A convolution that puts zeros between the elements of its input (transposed ones, and gradients of those with
/// strides) becomes sums of what each element gives (ops/conv_elements.h). Where that cannot be, or would be more work,
/// and for images with finite weights where what two elements give overlaps, it becomes one over an input that has the
/// zeros, of which those behind the last element are cropped by padding; that is the same for finite weights.
///   before: conv(x, w, x_dilation=[2])
///   after:  conv(reshape(pad(reshape(x, [n, c, h, 1]), high=[0, 0, 0, 1]), [n, c, 2*h]), w, high=[-1])
Graph spread_inputs(Graph graph);

}  // namespace tenon::passes
