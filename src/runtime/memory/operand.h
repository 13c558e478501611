// An input or an output of one call, wherever its memory comes from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tenon/array.h"
#include "tenon/tensor_view.h"

namespace tenon::runtime {

/// Borrows everything.
struct Operand {
  Dtype dtype = Dtype::f32;
  std::span<const int64_t> dims = {};
  std::span<const int64_t> strides = {};  // in elements; empty: row-major, without gaps
  std::byte* data = nullptr;              // of an input only read
  const Array* array = nullptr;           // whose memory it is, if any

  int64_t size() const;
  /// Whether the last axis lies closest, and there are no gaps.
  bool is_row_major() const;
  /// Whether kernels can use the memory as it is: rows without gaps, at an address that the element's size divides.
  bool is_plain() const;
  /// Whether no two elements share memory: each stride steps over all that the smaller ones reach. Rows that lie in the
  /// gaps of others are not recognised.
  bool is_injective() const;
};

/// Error for an array that is not in the CPU's memory.
Operand operand_of(const Array& array);
/// The same of an array in the memory of any device.
Operand operand_anywhere(const Array& array);
/// Error for strides of another rank, and for no memory where there are elements; `what` it is, for people.
Operand operand_of(const TensorView& view, const char* what, size_t number);

/// From the bytes of the first element to the bytes of the last, as addresses; empty when there are no elements.
struct AddressRange {
  uintptr_t begin = 0;
  uintptr_t end = 0;

  bool overlaps(const AddressRange& other) const { return begin < other.end && other.begin < end; }
};
AddressRange address_range(const Operand& operand);

}  // namespace tenon::runtime
