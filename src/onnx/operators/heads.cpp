#include "onnx/operators/heads.h"

#include "tenon/indexing.h"

namespace tenon::importer {

Value to_heads(const Value& x, int64_t heads) {
  const Extent depth = floordiv(x.extent(2), heads);
  return transpose(reshape(x, {x.shape().axis(0), x.shape().axis(1), heads, depth}), {0, 2, 1, 3});
}

Value from_heads(const Value& x) {
  const Value moved = transpose(x, {0, 2, 1, 3});
  return reshape(moved, {moved.shape().axis(0), moved.shape().axis(1), moved.extent(2) * moved.extent(3)});
}

Value turned_by_tables(const Value& x, const Value& cosines, const Value& sines, bool interleaved) {
  const Extent& half = cosines.extent(-1);
  const Value c = cast(expand_dims(cosines, {1}), x.dtype());
  const Value s = cast(expand_dims(sines, {1}), x.dtype());
  const Value part = slice_axis(x, 3, 0, half * 2);
  const Value a = interleaved ? slice_axis(part, 3, 0, {}, 2) : slice_axis(part, 3, 0, half);
  const Value b = interleaved ? slice_axis(part, 3, 1, {}, 2) : slice_axis(part, 3, half, half * 2);
  const Value first = a * c - b * s;
  const Value second = b * c + a * s;
  const Value both =
      interleaved ? reshape(stack({first, second}, -1), part.shape().axes()) : concat({first, second}, 3);
  return part.extent(3) == x.extent(3) ? both : concat({both, slice_axis(x, 3, half * 2)}, 3);
}

}  // namespace tenon::importer
