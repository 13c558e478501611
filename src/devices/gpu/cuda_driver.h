// The functions of NVIDIA's driver that are used, found when the process runs: nothing of it is needed to build.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace tenon::devices {

/// libcuda.so.1. Its types are as its interface has them: handles are pointers, addresses 64 bits.
struct CudaDriver {
  using Result = int;
  using Handle = void*;
  using Address = uint64_t;

  static constexpr Result kOutOfMemory = 2;

  Result (*init)(unsigned flags);
  Result (*driver_version)(int* version);
  Result (*device_count)(int* count);
  Result (*device)(int* device, int ordinal);
  Result (*device_name)(char* name, int length, int device);
  Result (*attribute)(int* value, int attribute, int device);
  Result (*total_memory)(size_t* bytes, int device);
  Result (*retain_context)(Handle* context, int device);
  Result (*set_context)(Handle context);
  Result (*allocate)(Address* memory, size_t bytes);
  Result (*release)(Address memory);
  Result (*default_pool)(Handle* pool, int device);
  Result (*set_pool_attribute)(Handle pool, int attribute, void* value);
  Result (*allocate_in_order)(Address* memory, size_t bytes, Handle stream);
  Result (*release_in_order)(Address memory, Handle stream);
  Result (*copy_in)(Address to, const void* from, size_t bytes, Handle stream);
  Result (*copy_out)(void* to, Address from, size_t bytes, Handle stream);
  Result (*copy)(Address to, Address from, size_t bytes, Handle stream);
  Result (*fill)(Address to, unsigned char value, size_t count, Handle stream);
  Result (*wait)(Handle stream);
  Result (*load_module)(Handle* module, const void* image, unsigned options, int* keys, void** values);
  Result (*unload_module)(Handle module);
  Result (*begin_link)(unsigned options, int* keys, void** values, Handle* state);
  Result (*add_to_link)(Handle state, int type, void* data, size_t bytes, const char* name, unsigned options, int* keys,
                        void** values);
  Result (*end_link)(Handle state, void** code, size_t* bytes);  // which belong to the state
  Result (*release_link)(Handle state);
  Result (*function)(Handle* function, Handle module, const char* name);
  Result (*function_attribute)(int* value, int attribute, Handle function);
  Result (*set_function_attribute)(Handle function, int attribute, int value);
  Result (*launch)(Handle function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                   unsigned block_y, unsigned block_z, unsigned shared_bytes, Handle stream, void** arguments,
                   void** extra);
  Result (*error_name)(Result error, const char** name);
  Result (*error_text)(Result error, const char** text);
};

/// Loaded once a process, with its first device counted. Error: there is no driver, or one that is too old, or no GPU.
const CudaDriver& cuda_driver();

/// Error: `result` is one; `what` was tried.
void check_cuda(CudaDriver::Result result, const char* what);

}  // namespace tenon::devices
