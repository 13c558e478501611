// The C functions by which a library hands out and takes tensors of its Python classes (DLPack 1.3).
#pragma once

#include <cstdint>

#include "tenon/dlpack.h"

namespace tenon::python {

/// DLPack's structures, in their layout.
struct PackVersion {
  uint32_t major = 1;
  uint32_t minor = 0;
};

struct VersionedTensor {
  PackVersion version;
  void* context = nullptr;
  void (*deleter)(VersionedTensor* self) = nullptr;
  uint64_t flags = 0;
  dlpack::TensorData tensor;
};

/// The table of functions that DLPack lets a class of tensors hand out as `__dlpack_c_exchange_api__`. Each gives 0, or
/// another number and an exception of Python's.
struct ExchangeFunctions {
  PackVersion version;
  ExchangeFunctions* previous = nullptr;
  void* allocate = nullptr;
  int (*to_managed)(void* object, VersionedTensor** out) = nullptr;
  /// A new reference to an object that owns `tensor` and calls its deleter.
  int (*from_managed)(VersionedTensor* tensor, void** out) = nullptr;
  /// Sizes and strides in `out` live as long as the object.
  int (*read)(void* object, dlpack::TensorData* out) = nullptr;
  void* stream = nullptr;
};

}  // namespace tenon::python
