// Memory of the caller's, seen as a tensor.
#pragma once

#include <cstdint>
#include <vector>

#include "tenon/array.h"
#include "tenon/strided_array.h"

namespace tenon {

/// Borrowed: nothing here owns or frees `data`, which must outlive every call that is given the view. Element
/// (i, j, ...) lies i * strides[0] + j * strides[1] + ... elements behind `data`.
struct TensorView {
  void* data = nullptr;  ///< of an input only read
  Dtype dtype = Dtype::f32;
  std::vector<int64_t> dims = {};
  std::vector<int64_t> strides = {};  ///< in elements; empty: row-major, without gaps
};

/// The elements of an array, for reading; the array stays where it is as long as the view is used.
TensorView view_of(const Array& array);
TensorView view_of(const StridedArray& array);
/// For writing too: an array that shares its memory is copied first.
TensorView writable_view_of(Array& array);

}  // namespace tenon
