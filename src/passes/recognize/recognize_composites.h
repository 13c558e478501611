// What a front end did not name is found and becomes the same composites.
#pragma once

#include "tenon/graph.h"

namespace tenon::passes {

/// Find softmax, log_softmax, layer_norm, rms_norm, gelu, gelu_tanh, silu, attention, dense and qkv_dense in the forms
/// that exporters write, and make of each what its builder in tenon/nn.h (or its row of the scalar table) makes.
///   before: div(exp(sub(x, reduce_max(x, [1], true))), ...)   after: softmax(x, 1)
///   before: relu(add(matmul(x, w), b))                        after: dense(x, w, b, relu)
/// What is not quite one of them stays: another axis, an epsilon elsewhere, a step that somebody else reads or that is
/// an output. Half types stay too, because every step of theirs rounds. In attention a query that sees no key gives
/// zeros where the quotient of zeros is NaN.
Graph recognize_composites(Graph graph);

}  // namespace tenon::passes
