#include "tenon/strided_array.h"

#include <algorithm>
#include <cstring>

namespace tenon {
namespace {

/// Copy `count` elements that lie `stride` bytes apart to where they lie side by side.
template <size_t Size>
void pack(std::byte* to, const std::byte* from, int64_t count, int64_t stride) {
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(to + i * static_cast<int64_t>(Size), from + i * stride, Size);
  }
}

using Pack = void (*)(std::byte*, const std::byte*, int64_t, int64_t);

Pack pack_of(size_t element) {
  return element == 1 ? pack<1> : element == 2 ? pack<2> : element == 4 ? pack<4> : pack<8>;
}

}  // namespace

bool StridedArray::is_contiguous() const {
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) {
    return true;
  }
  int64_t expected = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    if (dims[i] != 1 && strides[i] != expected) {
      return false;
    }
    expected *= dims[i];
  }
  return true;
}

Array StridedArray::contiguous() const {
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) {
    return {dtype(), dims};
  }
  if (is_contiguous()) {
    return base.window(offset, dims);
  }
  Array result = Array::uninitialized(dtype(), dims);
  const auto element = static_cast<int64_t>(byte_size(dtype()));
  const Pack pack = pack_of(static_cast<size_t>(element));
  const int64_t row = dims.back();  // a view of rank 0 is contiguous
  const int64_t stride = strides.back() * element;
  std::byte* to = result.mutable_data();
  int64_t at = offset;
  std::vector<int64_t> index(dims.size() - 1, 0);
  for (int64_t rows = result.size() / row; rows > 0; --rows) {
    const std::byte* from = base.data() + at * element;
    if (stride == element) {
      std::memcpy(to, from, static_cast<size_t>(row * element));
    } else {
      pack(to, from, row, stride);
    }
    to += row * element;
    for (size_t axis = index.size(); axis-- > 0;) {
      at += strides[axis];
      if (++index[axis] < dims[axis]) {
        break;
      }
      at -= dims[axis] * strides[axis];
      index[axis] = 0;
    }
  }
  return result;
}

}  // namespace tenon
