// Products of operands in fewer bits.
#pragma once

#include "tenon/graph.h"
#include "tenon/precision.h"

namespace tenon::passes {

/// Round the operands of f32 products and convolutions. Sums are of f32 as before.
///   bf16, f16   before: matmul(x, y)   after: matmul(cast(cast(x, bf16), f32), cast(cast(y, bf16), f32))
///   tf32        the same by the bits of the operands
/// Constants are rounded once. Operands of f16 or bf16, integers and f64 are left alone. f32 changes nothing.
Graph narrow_products(const Graph& graph, Precision precision);

}  // namespace tenon::passes
