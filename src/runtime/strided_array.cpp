#include "tenon/strided_array.h"

#include <algorithm>

#include "runtime/memory/copy_elements.h"
#include "tenon/tensor_view.h"

namespace tenon {
namespace {

runtime::Operand elements_of(const StridedArray& array) {
  runtime::Operand operand = runtime::operand_of(array.base);
  operand.data += array.offset * static_cast<int64_t>(byte_size(array.dtype()));
  operand.dims = array.dims;
  operand.strides = array.strides;
  return operand;
}

}  // namespace

bool StridedArray::is_contiguous() const {
  const runtime::Operand elements{.dtype = dtype(), .dims = dims, .strides = strides};
  return elements.size() == 0 || elements.is_row_major();
}

Array StridedArray::contiguous() const {
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) {
    return base.place() == MemoryPlace() ? Array(dtype(), dims) : base.window(0, dims);
  }
  if (is_contiguous()) {
    return base.window(offset, dims);
  }
  Array result = Array::uninitialized(dtype(), dims);
  runtime::copy_elements(elements_of(*this), runtime::operand_of(result));
  return result;
}

TensorView view_of(const Array& array) {
  return {.data = const_cast<std::byte*>(array.data()), .dtype = array.dtype(), .dims = array.dims()};
}

TensorView view_of(const StridedArray& array) {
  return {.data = elements_of(array).data, .dtype = array.dtype(), .dims = array.dims, .strides = array.strides};
}

TensorView writable_view_of(Array& array) {
  return {.data = array.mutable_data(), .dtype = array.dtype(), .dims = array.dims()};
}

}  // namespace tenon
