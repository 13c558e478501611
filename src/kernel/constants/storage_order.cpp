#include "kernel/constants/storage_order.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tenon::layouts {
namespace {

/// Element after element in the order of `dims`, the last of them fastest; strides are those of `from`.
template <class Element>
void copy_in_order(const std::byte* from, const std::vector<int64_t>& dims, const std::vector<int64_t>& strides,
                   std::byte* to, size_t axis = 0) {
  if (axis == dims.size()) {
    std::memcpy(to, from, sizeof(Element));
    return;
  }
  int64_t inner = 1;
  for (size_t i = axis + 1; i < dims.size(); ++i) {
    inner *= dims[i];
  }
  const auto bytes = static_cast<int64_t>(sizeof(Element));
  for (int64_t i = 0; i < dims[axis]; ++i) {
    if (inner == 1) {
      std::memcpy(to + i * bytes, from + i * strides[axis] * bytes, sizeof(Element));
    } else {
      copy_in_order<Element>(from + i * strides[axis] * bytes, dims, strides, to + i * inner * bytes, axis + 1);
    }
  }
}

}  // namespace

Array in_storage_order(const Array& x, const std::vector<int>& order) {
  std::vector<int64_t> dims;
  std::vector<int64_t> strides;
  for (const int axis : order) {
    int64_t stride = 1;
    for (size_t i = static_cast<size_t>(axis) + 1; i < x.dims().size(); ++i) {
      stride *= x.dims()[i];
    }
    dims.push_back(x.dims()[static_cast<size_t>(axis)]);
    strides.push_back(stride);
  }
  Array result = Array::uninitialized(x.dtype(), dims);
  const std::byte* const from = x.data();
  std::byte* const to = result.mutable_data();
  switch (byte_size(x.dtype())) {
    case 1: copy_in_order<uint8_t>(from, dims, strides, to); break;
    case 2: copy_in_order<uint16_t>(from, dims, strides, to); break;
    case 4: copy_in_order<uint32_t>(from, dims, strides, to); break;
    default: copy_in_order<uint64_t>(from, dims, strides, to); break;
  }
  return result;
}

}  // namespace tenon::layouts
