// What the hand-built loop kernels share: sizes, element access, inputs that are more than random.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "base/convert.h"
#include "support/loop_builder.h"
#include "support/loop_kernels.h"

namespace tenon::loop_case {

inline const Extent& rows_extent() {
  static const Extent extent = Extent::name("rows");
  return extent;
}
inline const Extent& cols_extent() {
  static const Extent extent = Extent::name("cols");
  return extent;
}

/// Element i of a buffer as T.
template <class T>
const T& in(const std::vector<Array>& buffers, size_t buffer, int64_t i) {
  return buffers[buffer].values<T>()[static_cast<size_t>(i)];
}
template <class T>
T& out(std::vector<Array>& buffers, size_t buffer, int64_t i) {
  return buffers[buffer].mutable_values<T>()[static_cast<size_t>(i)];
}

struct Sizes {
  explicit Sizes(const Bindings& bindings) : rows(bindings.at("rows")), cols(bindings.at("cols")) {}
  int64_t rows, cols;
};

/// Random floats become small integers, so that sums are exact and ties happen.
inline void make_whole(Array& array) {
  for (float& x : array.mutable_values<float>()) {
    x = std::trunc(x);
  }
}

/// Random integers become positions below `size`, which is at least 1.
inline void make_positions(Array& array, int64_t size) {
  auto positions = array.mutable_values<int64_t>();
  for (size_t i = 0; i < positions.size(); ++i) {
    positions[i] = (positions[i] + 4 + static_cast<int64_t>(i) * 7) % size;
  }
}

}  // namespace tenon::loop_case
