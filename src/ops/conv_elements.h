// Convolutions over inputs with gaps, from products of what is there alone.
#pragma once

#include <optional>

#include "ir/kinds.h"
#include "tenon/graph.h"

namespace tenon {

/// What the convolution gives when zeros between and around the elements of x are not multiplied: an infinite weight
/// makes NaN only where it meets an element. Each element meets each weight once, and what falls on one element of the
/// result is added. Nothing for strides, for weights whose offsets are not known or of which too many fall on one
/// element, and where there are fewer results than elements, so that this would compute more and not less.
///   before: conv(x, w, x_dilation=[2])
///   after:  p = reshape(conv(x, w as [o*4, c, 1]), [n, o, 2, 2, h])
///           pad(p[:, :, 0], high=1) + pad(p[:, :, 1], low=1), as [n, o, h+1, 2], in line
std::optional<Value> conv_of_elements(const Conv& op, const Value& x, const Value& w);

/// Whether the weights are known to have neither infinities nor NaN, so that a product with a zero is one.
bool is_finite_constant(const Value& w);

}  // namespace tenon
