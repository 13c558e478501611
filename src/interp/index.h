// Walking all positions of an array.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tenon {

using Index = std::vector<int64_t>;

/// Row-major strides in elements.
Index strides_of(const Index& dims);
int64_t count_of(const Index& dims);

/// The elements of `list` at `positions`.
template <class T>
std::vector<T> pick(const std::vector<T>& list, const std::vector<int>& positions) {
  std::vector<T> result;
  result.reserve(positions.size());
  for (const int i : positions) {
    result.push_back(list[static_cast<size_t>(i)]);
  }
  return result;
}

/// Call f(index, number) for every index below `dims`, the last axis running fastest; number counts from 0.
template <class F>
void for_each_index(const Index& dims, F&& f) {
  const int64_t count = count_of(dims);
  Index index(dims.size(), 0);
  for (int64_t number = 0; number < count; ++number) {
    f(static_cast<const Index&>(index), number);
    for (size_t axis = dims.size(); axis-- > 0;) {
      if (++index[axis] < dims[axis]) {
        break;
      }
      index[axis] = 0;
    }
  }
}

inline int64_t dot(const Index& index, const Index& strides) {
  int64_t sum = 0;
  for (size_t i = 0; i < index.size(); ++i) {
    sum += index[i] * strides[i];
  }
  return sum;
}

}  // namespace tenon
