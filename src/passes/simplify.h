// Operations that do nothing, or do it twice, go.
#pragma once

#include "tenon/graph.h"

namespace tenon::passes {

/// Algebraic simplification that changes no element: NaN, infinities and signed zeros stay what they are.
///   before: transpose(transpose(mul(x, 1), [1, 0]), [1, 0])        after: x
///   before: reduce(reduce(x, op=max, axes=[2]), op=max, axes=[1])  after: reduce(x, op=max, axes=[1, 2])
///   before: matmul(x, y): f32[n, 0, 8]                             after: full(f32[n, 0, 8], 0), as of sums over
///   nothing
/// So x + 0.0 stays (it makes 0 of -0), and so do x * 0 and x - x of floats.
Graph simplify(Graph graph);

}  // namespace tenon::passes
