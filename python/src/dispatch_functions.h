// The functions of PyTorch's stable ABI by which a kernel is called without Python, and two of its libraries' own. They
// are found in the libraries that are loaded: nothing is linked.
#pragma once

#include <Python.h>

#include <cstdint>
#include <functional>
#include <string>

#include "exchange_functions.h"

namespace tenon::python {

/// An argument or a result: a number, or a pointer to what is larger. PyTorch calls it StableIValue.
using StableValue = uint64_t;
/// A tensor of PyTorch's, which its owner deletes.
using TensorHandle = void*;
/// A tensor by value: what at::Tensor is.
struct TensorSlot {
  void* tensor = nullptr;
  ~TensorSlot();
};

/// The version of the ABI that is spoken here: PyTorch 2.10.
constexpr uint64_t kDispatchVersion = (uint64_t{2} << 56) | (uint64_t{10} << 48);

/// Each gives 0, or another number where it failed.
struct DispatchFunctions {
  using Kernel = void (*)(StableValue* stack, uint64_t arguments, uint64_t results);

  int (*open_library)(const char* space, const char* key, const char* file, uint32_t line, void** out);
  int (*set_kernel)(void* library, const char* name, Kernel kernel, uint64_t version);

  int (*call)(const char* name, const char* overload, StableValue* stack, uint64_t version);

  int (*copy_handle)(TensorHandle tensor, TensorHandle* out);
  int (*new_undefined)(TensorHandle* out);
  int (*delete_handle)(TensorHandle tensor);
  int (*is_defined)(TensorHandle tensor, bool* out);
  int (*data)(TensorHandle tensor, void** out);
  int (*rank)(TensorHandle tensor, int64_t* out);
  int (*sizes)(TensorHandle tensor, int64_t** out);
  int (*strides)(TensorHandle tensor, int64_t** out);
  int (*dtype)(TensorHandle tensor, int32_t* out);
  int (*device_type)(TensorHandle tensor, int32_t* out);
  /// A tensor on the same storage, its offset being that of `tensor` and `distance`.
  int (*reinterpret)(TensorHandle tensor, int64_t rank, const int64_t* sizes, const int64_t* strides, int64_t distance,
                     TensorHandle* out);

  int (*new_list)(size_t capacity, void** out);
  int (*append)(void* list, StableValue value);
  int (*list_size)(void* list, size_t* out);
  int (*list_item)(void* list, size_t index, StableValue* out);
  int (*delete_list)(void* list);
  int (*text_size)(void* text, size_t* out);
  int (*text_bytes)(void* text, const char** out);
  int (*delete_text)(void* text);

  int32_t our_device = 0;  ///< what device_type() says of the device `tenon`

  // at::fromDLPackVersioned and THPVariable_Wrap, which no ABI promises: versions that are not known are not used.
  TensorSlot (*from_pack)(VersionedTensor* tensor, std::function<void(void*)> deleter);
  PyObject* (*wrap)(const void* tensor);
};

/// Those of the libraries in a folder that PyTorch has loaded; null where one is missing. It is the same at each call.
const DispatchFunctions* find_dispatch_functions(const std::string& folder);
/// What find_dispatch_functions() has found; null before.
const DispatchFunctions* dispatch_functions();

/// Ends a kernel by the exception of Python's that pends, as PyTorch's own code does; the lock is held.
[[noreturn]] void throw_pending_error();

}  // namespace tenon::python
