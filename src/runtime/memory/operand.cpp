#include "runtime/memory/operand.h"

#include <cstdlib>

#include "base/fail.h"

namespace tenon::runtime {

int64_t Operand::size() const {
  int64_t size = 1;
  for (const int64_t dim : dims) {
    size *= dim;
  }
  return size;
}

bool Operand::is_row_major() const {
  if (strides.empty()) {
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

bool Operand::is_plain() const {
  const uintptr_t below = byte_size(dtype) - 1;  // element sizes are powers of two
  return (reinterpret_cast<uintptr_t>(data) & below) == 0 && (is_row_major() || size() == 0);
}

bool Operand::is_injective() const {
  if (strides.empty() || size() == 0) {
    return true;
  }
  for (size_t i = 0; i < dims.size(); ++i) {
    int64_t below = 0;  // what smaller strides reach; of equal ones the later counts as smaller
    for (size_t j = 0; j < dims.size(); ++j) {
      const bool smaller = std::abs(strides[j]) < std::abs(strides[i]) || (strides[j] == strides[i] && j > i) ||
                           (strides[j] == -strides[i] && j > i);
      below += smaller && dims[j] > 1 ? (dims[j] - 1) * std::abs(strides[j]) : 0;
    }
    if (dims[i] > 1 && below >= std::abs(strides[i])) {
      return false;
    }
  }
  return true;
}

Operand operand_of(const Array& array) {
  (void)array.data();  // refuses what is elsewhere
  return operand_anywhere(array);
}

Operand operand_anywhere(const Array& array) {
  return {
      .dtype = array.dtype(), .dims = array.dims(), .strides = {}, .data = array.storage().address, .array = &array};
}

Operand operand_of(const TensorView& view, const char* what, size_t number) {
  if (!view.strides.empty() && view.strides.size() != view.dims.size()) {
    fail("{} {} has {} sizes and {} strides", what, number, view.dims.size(), view.strides.size());
  }
  Array::require_memory(view.dtype, view.dims);
  Operand operand{.dtype = view.dtype,
                  .dims = view.dims,
                  .strides = view.strides,
                  .data = static_cast<std::byte*>(view.data),
                  .array = nullptr};
  if (view.data == nullptr && operand.size() != 0) {
    fail("{} {} is [{}], but has no memory", what, number, fmt::join(view.dims, ", "));
  }
  return operand;
}

AddressRange address_range(const Operand& operand) {
  const auto base = reinterpret_cast<uintptr_t>(operand.data);
  if (operand.size() == 0) {
    return {base, base};
  }
  const auto element = static_cast<int64_t>(byte_size(operand.dtype));
  if (operand.strides.empty()) {
    return {base, base + static_cast<uintptr_t>(operand.size() * element)};
  }
  int64_t lowest = 0;
  int64_t highest = 0;
  for (size_t i = 0; i < operand.dims.size(); ++i) {
    const int64_t reach = (operand.dims[i] - 1) * operand.strides[i] * element;
    (reach < 0 ? lowest : highest) += reach;
  }
  return {base + static_cast<uintptr_t>(lowest), base + static_cast<uintptr_t>(highest + element)};
}

}  // namespace tenon::runtime
