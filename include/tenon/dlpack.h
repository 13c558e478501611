// Tensors that other libraries share by the DLPack protocol, without copies.
#pragma once

#include <cstdint>

#include "tenon/array.h"
#include "tenon/strided_array.h"

namespace tenon {

/// The structures of DLPack's C interface, in their layout: a pointer to the library's own may be cast to one of these
/// and back. They are here so that nothing need be installed.
namespace dlpack {

struct Device {
  int32_t type = 1;  ///< 1: the CPU's memory; 2: that of a CUDA GPU; 3: the CPU's, as CUDA pins it
  int32_t id = 0;
};

struct DataType {
  uint8_t code = 2;  ///< 0 signed, 1 unsigned, 2 float, 4 bfloat, 6 bool
  uint8_t bits = 32;
  uint16_t lanes = 1;
};

struct TensorData {
  void* data = nullptr;
  Device device;
  int32_t ndim = 0;
  DataType dtype;
  int64_t* shape = nullptr;
  int64_t* strides = nullptr;  ///< in elements; null: row-major, without gaps
  uint64_t byte_offset = 0;
};

struct ManagedTensor {
  TensorData tensor;
  void* context = nullptr;
  void (*deleter)(ManagedTensor* self) = nullptr;
};

}  // namespace dlpack

/// The tensor's own memory, wherever it is (Array::place()): that which CUDA pins is the CPU's. It is released through
/// its deleter when the last array that shares it goes. Arrays are values: one that is written while others share it is
/// copied, and the only one writes the tensor's memory.
/// Error, after which the tensor is still the caller's: memory of other devices, an element type that Tenon does not
/// have, an address that the element's size does not divide, a null pointer where there should be a tensor, sizes
/// or memory, a rank, size, stride or offset that cannot be.
StridedArray from_dlpack(dlpack::ManagedTensor* tensor);

/// Shares the array's memory, and says whose that is, for as long as the tensor lives: until its deleter is called, by
/// whoever takes it. Others that hold the array see what is written there.
dlpack::ManagedTensor* to_dlpack(const StridedArray& array);
dlpack::ManagedTensor* to_dlpack(const Array& array);

}  // namespace tenon
