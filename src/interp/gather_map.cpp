#include "interp/gather_map.h"

#include <fmt/format.h>

#include "base/convert.h"
#include "ops/axes.h"
#include "tenon/position_error.h"

namespace tenon {
namespace {

/// Positions along an axis of `size`, negative ones counted from the end; out of range is an Error. One of u64 beyond
/// i64 is named as the negative number that it was cast from.
std::vector<int64_t> positions(const Array& index, int axis, int64_t size, std::string_view operation) {
  std::vector<int64_t> result(static_cast<size_t>(index.size()));
  visit_dtype(index.dtype(), [&]<class T>() {
    if constexpr (std::is_integral_v<T>) {
      const auto given = index.values<T>();
      for (size_t i = 0; i < given.size(); ++i) {
        const bool too_large = std::is_unsigned_v<T> && static_cast<uint64_t>(given[i]) > INT64_MAX;
        const auto position = static_cast<int64_t>(given[i]);
        if (too_large || position >= size || position < -size) {
          throw PositionError(
              fmt::format("{}: position {} is out of range for axis {} of size {}", operation, position, axis, size));
        }
        result[i] = position < 0 ? position + size : position;
      }
    }
  });
  return result;
}

}  // namespace

std::vector<int64_t> gather_map(const Gather& op, const Index& x_dims, std::span<const Array> indices,
                                const Index& dims, std::string_view operation) {
  const Index x_strides = strides_of(x_dims);
  const Index index_strides = strides_of(indices[0].dims());
  std::vector<std::vector<int64_t>> picked;
  for (size_t k = 0; k < op.axes.size(); ++k) {
    picked.push_back(positions(indices[k], op.axes[k], x_dims[static_cast<size_t>(op.axes[k])], operation));
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
  for (const int i : other_axes(indices[0].rank(), op.index_batch)) {
    in_x.push_back(0);
    in_index.push_back(index_strides[static_cast<size_t>(i)]);
  }
  for (const int i : other_axes(static_cast<int>(x_dims.size()), used)) {
    in_x.push_back(x_strides[static_cast<size_t>(i)]);
    in_index.push_back(0);
  }
  std::vector<int64_t> map(static_cast<size_t>(count_of(dims)));
  for_each_index(dims, [&](const Index& index, int64_t i) {
    int64_t source = dot(index, in_x);
    const auto at = static_cast<size_t>(dot(index, in_index));
    for (size_t k = 0; k < op.axes.size(); ++k) {
      source += picked[k][at] * x_strides[static_cast<size_t>(op.axes[k])];
    }
    map[static_cast<size_t>(i)] = source;
  });
  return map;
}

}  // namespace tenon
