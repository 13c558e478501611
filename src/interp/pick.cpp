// Concat and Gather.
#include <cstring>

#include "base/convert.h"
#include "base/fail.h"
#include "interp/evaluate.h"
#include "interp/view_map.h"
#include "ops/axes.h"

namespace tenon {
namespace {

/// Positions along an axis of `size`, negative ones counted from the end; out of range is an Error.
std::vector<int64_t> positions(const Array& index, int axis, int64_t size) {
  std::vector<int64_t> result(static_cast<size_t>(index.size()));
  visit_dtype(index.dtype(), [&]<class T>() {
    if constexpr (std::is_integral_v<T>) {
      const auto given = index.values<T>();
      for (size_t i = 0; i < given.size(); ++i) {
        const bool too_large = std::is_unsigned_v<T> && static_cast<uint64_t>(given[i]) > INT64_MAX;
        const auto position = static_cast<int64_t>(given[i]);
        if (too_large || position >= size || position < -size) {
          fail("gather: position {} is out of range for axis {} of size {}", given[i], axis, size);
        }
        result[i] = position < 0 ? position + size : position;
      }
    }
  });
  return result;
}

}  // namespace

Arrays evaluate(const Concat& op, const Evaluation& e) {
  Array out = e.output();
  const auto axis = static_cast<size_t>(op.axis);
  const Index strides = strides_of(out.dims());
  const size_t width = byte_size(out.dtype());
  std::byte* to = out.mutable_data();
  int64_t begin = 0;
  for (const Array& in : e.inputs) {
    for_each_index(in.dims(), [&](const Index& index, int64_t i) {
      const int64_t target = dot(index, strides) + begin * strides[axis];
      std::memcpy(to + static_cast<size_t>(target) * width, in.data() + static_cast<size_t>(i) * width, width);
    });
    begin += in.dims()[axis];
  }
  return {out};
}

Arrays evaluate(const Gather& op, const Evaluation& e) {
  const Array& x = e.inputs[0];
  const Index x_strides = strides_of(x.dims());
  const Array& first = e.inputs[1];
  const Index index_strides = strides_of(first.dims());
  std::vector<std::vector<int64_t>> picked;
  for (size_t k = 0; k < op.axes.size(); ++k) {
    picked.push_back(positions(e.inputs[1 + k], op.axes[k], x.dims()[static_cast<size_t>(op.axes[k])]));
  }
  // Result axes: batch, the other axes of the indices, the other axes of x. Each gives a stride into both operands.
  std::vector<int> used = op.x_batch;
  used.insert(used.end(), op.axes.begin(), op.axes.end());
  Index in_x;
  Index in_index;
  for (size_t k = 0; k < op.x_batch.size(); ++k) {
    in_x.push_back(x_strides[static_cast<size_t>(op.x_batch[k])]);
    in_index.push_back(index_strides[static_cast<size_t>(op.index_batch[k])]);
  }
  for (const int i : other_axes(first.rank(), op.index_batch)) {
    in_x.push_back(0);
    in_index.push_back(index_strides[static_cast<size_t>(i)]);
  }
  for (const int i : other_axes(x.rank(), used)) {
    in_x.push_back(x_strides[static_cast<size_t>(i)]);
    in_index.push_back(0);
  }
  const Index dims = e.dims();
  std::vector<int64_t> map(static_cast<size_t>(count_of(dims)));
  for_each_index(dims, [&](const Index& index, int64_t i) {
    int64_t source = dot(index, in_x);
    const auto at = static_cast<size_t>(dot(index, in_index));
    for (size_t k = 0; k < op.axes.size(); ++k) {
      source += picked[k][at] * x_strides[static_cast<size_t>(op.axes[k])];
    }
    map[static_cast<size_t>(i)] = source;
  });
  return {gather_elements(x, map, dims, {})};
}

}  // namespace tenon
