// A view of an array: elements at an offset, with a stride for each axis.
#pragma once

#include <cstdint>
#include <vector>

#include "tenon/array.h"

namespace tenon {

/// Element (i, j, ...) is element offset + i * strides[0] + j * strides[1] + ... of `base`. A stride may be 0 or
/// negative; every element lies inside the base.
struct StridedArray {
  Array base;
  int64_t offset = 0;
  std::vector<int64_t> dims = {};
  std::vector<int64_t> strides = {};  // in elements

  Dtype dtype() const { return base.dtype(); }

  /// Whether the elements lie one after the other in row-major order.
  bool is_contiguous() const;

  /// The elements in row-major order: sharing memory with the base where they lie so already, else a copy, which the
  /// memory of the CPU alone has (Error).
  Array contiguous() const;
};

}  // namespace tenon
