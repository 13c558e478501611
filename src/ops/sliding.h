// What Window and Conv share: the arithmetic of a window that slides along an axis.
#pragma once

#include "ops/infer.h"

namespace tenon {

/// `n` elements with dilation - 1 others between neighbours. No elements count as 1 - dilation, so that the extent is a
/// line in n; only padding can make up for that.
Extent dilated(const Extent& n, int64_t dilation);

/// A window on one axis. Padding may be negative: it crops.
struct Sliding {
  Extent span;  // of the window, first to last element: dilated(size, dilation)
  int64_t stride = 1;
  Extent low = 0, high = 0;
  int64_t x_dilation = 1;
};

/// The axis of window positions along `axis` of `x`: (low + n + high - span) floordiv stride + 1.
/// The padded axis must hold the window: what that needs goes to `constraints`, what never fits is an Error that names
/// the axis. A window of constant span 1 also slides along an empty axis.
Axis slide(const Value& x, int axis, const Sliding& window, std::vector<Constraint>& constraints);

/// An Error unless `list`, called `what`, has `count` entries, none below 1.
void require_steps(const std::vector<int64_t>& list, size_t count, std::string_view what);
/// An Error unless `list` has `count` entries.
void require_padding(const std::vector<Extent>& list, size_t count, std::string_view what);

/// One of `groups` equal parts of an axis.
Extent share(const Extent& extent, int64_t groups);

/// w[groups * a, b, offset...] as [groups * b, a, offset...] with the offsets reversed: the weights that carry values
/// back from the outputs of a convolution to its inputs.
Value adjoint_weights(const Value& w, int64_t groups);

// How builders read options: an empty list stands for the same entry on every axis.

/// `list`, or `count` times `otherwise`.
template <class T>
std::vector<T> list_or(const std::vector<T>& list, size_t count, const T& otherwise) {
  return list.empty() ? std::vector<T>(count, otherwise) : list;
}

/// Fill in `window.low` and `window.high` for an axis of size n by one of the rules of model files:
///   explicit                as given
///   valid                   none
///   same_upper, same_lower  ceildiv(n, stride) positions, an odd element at the end, or at the start
/// Another word, and padding given beside a rule, are an Error.
void apply_padding_rule(std::string_view rule, const Extent& n, Sliding& window);

}  // namespace tenon
