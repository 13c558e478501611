// Builders whose results have an axis that only data decide: where a mask is true, what is different, what remains. The
// axis has a name like any other (`nonzero_1`), which may enter arithmetic; its size is known when what decides it has
// run. Names are made where none are given; two axes of a graph need different ones.
#pragma once

#include <optional>
#include <string_view>

#include "tenon/ops.h"

namespace tenon {

struct Found {
  Value positions;  // i64[axis], ascending
  Value count;      // i64[], the size of the axis
};
/// Row-major positions of the true elements of a mask of any shape.
Found positions(const Value& mask, std::string_view axis = {});

/// The positions of elements that are not 0, one column each: i64[rank, axis], in row-major order (ONNX NonZero).
Value nonzero(const Value& x, std::string_view axis = {});

/// x along `axis` where `mask`, bool[n], is true; n is at most the size of the axis. (ONNX Compress)
Value compress(const Value& x, const Value& mask, int axis, std::string_view name = {});

struct UniqueElements {
  Value values;   // each different element once: [axis], or x with `axis` as long as there are different slices
  Value first;    // i64[axis]: where in x each is found first
  Value inverse;  // i64: which of `values` each element of x is; flattened
  Value counts;   // i64[axis]: how often each is in x
};
struct UniqueOptions {
  bool sorted = true;            // ascending, slices by their first different element; else as they appear first
  std::optional<int> axis = {};  // compare slices of this axis; else all elements
  std::string_view name = {};    // of the axis that is made
};
/// The different elements of x. All NaN are one. (ONNX Unique)
UniqueElements unique(const Value& x, const UniqueOptions& options = {});

struct SuppressionOptions {
  Extent most = 0;     // boxes that are picked of a class in a batch
  Value limit = {};    // the same as an integer scalar, where it is known only when run; `most` is then not used
  Value overlap = {};  // intersection over union from which on boxes exclude each other; f32 scalar, else 0
  Value score = {};    // boxes must score more than this; f32 scalar
  bool center_and_size = false;  // boxes are [x, y, width, height], else two opposite corners [y, x, y, x]
  std::string_view name = {};    // of the axis that is made
};
/// Of boxes f32[batch, box, 4] with scores f32[batch, class, box] those that no better one of their class overlaps:
/// i64[axis, 3], batch, class and box of each, best first within a class; of equal scores the first box wins. Boxes
/// without area exclude none, and NaN scores are never picked. (ONNX NonMaxSuppression)
Value non_max_suppression(const Value& boxes, const Value& scores, const SuppressionOptions& options);

}  // namespace tenon
