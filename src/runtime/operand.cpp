#include "runtime/operand.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/fail.h"

namespace tenon::runtime {
namespace {

bool is_row_major(std::span<const int64_t> dims, std::span<const int64_t> strides) {
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

std::vector<int64_t> strides_of(const Operand& operand) {
  if (!operand.strides.empty()) {
    return {operand.strides.begin(), operand.strides.end()};
  }
  std::vector<int64_t> strides(operand.dims.size());
  int64_t stride = 1;
  for (size_t i = strides.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= operand.dims[i];
  }
  return strides;
}

/// Copy `count` elements, each so many bytes behind the one before.
template <size_t Size>
void copy_row(std::byte* to, int64_t to_step, const std::byte* from, int64_t from_step, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(to + i * to_step, from + i * from_step, Size);
  }
}

using CopyRow = void (*)(std::byte*, int64_t, const std::byte*, int64_t, int64_t);

CopyRow copy_row_of(size_t element) {
  return element == 1 ? copy_row<1> : element == 2 ? copy_row<2> : element == 4 ? copy_row<4> : copy_row<8>;
}

}  // namespace

int64_t Operand::size() const {
  int64_t size = 1;
  for (const int64_t dim : dims) {
    size *= dim;
  }
  return size;
}

bool Operand::is_plain() const {
  const uintptr_t below = byte_size(dtype) - 1;  // element sizes are powers of two
  return (reinterpret_cast<uintptr_t>(data) & below) == 0 && (is_row_major(dims, strides) || size() == 0);
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
  return {.dtype = array.dtype(),
          .dims = array.dims(),
          .strides = {},
          .data = const_cast<std::byte*>(array.data()),
          .array = &array};
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

void copy_elements(const Operand& from, const Operand& to) {
  if (from.size() == 0) {
    return;
  }
  const auto element = static_cast<int64_t>(byte_size(from.dtype));
  if (is_row_major(from.dims, from.strides) && is_row_major(to.dims, to.strides)) {
    std::memmove(to.data, from.data, static_cast<size_t>(from.size() * element));
    return;
  }
  const std::vector<int64_t> from_strides = strides_of(from);
  const std::vector<int64_t> to_strides = strides_of(to);
  const int64_t row = from.dims.back();  // of rank 0 all is row-major
  const CopyRow copy = copy_row_of(static_cast<size_t>(element));
  std::vector<int64_t> index(from.dims.size() - 1, 0);
  const std::byte* source = from.data;
  std::byte* target = to.data;
  for (int64_t rows = from.size() / row; rows > 0; --rows) {
    if (from_strides.back() == 1 && to_strides.back() == 1) {
      std::memcpy(target, source, static_cast<size_t>(row * element));
    } else {
      copy(target, to_strides.back() * element, source, from_strides.back() * element, row);
    }
    for (size_t axis = index.size(); axis-- > 0;) {
      source += from_strides[axis] * element;
      target += to_strides[axis] * element;
      if (++index[axis] < from.dims[axis]) {
        break;
      }
      source -= from.dims[axis] * from_strides[axis] * element;
      target -= from.dims[axis] * to_strides[axis] * element;
      index[axis] = 0;
    }
  }
}

}  // namespace tenon::runtime
