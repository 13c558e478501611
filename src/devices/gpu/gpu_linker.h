// PTX as code of a GPU: by the driver's compiler, or kept on disk from an earlier time.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "devices/gpu/cuda_driver.h"
#include "disk/object_cache.h"

namespace tenon::devices {

/// Code is kept under the user's cache directory by its PTX, the driver's version and the GPU's architecture. Safe to
/// use from many threads, which must have set a context.
class GpuLinker {
 public:
  /// Not `keeps`: nothing is kept or looked for.
  GpuLinker(const CudaDriver& driver, std::string architecture, bool keeps);

  /// A module of the context of the calling thread. Error: the driver does not take it.
  CudaDriver::Handle load(const std::string& ptx);

 private:
  /// Machine code of `ptx`; empty where the driver makes none that can be kept.
  std::vector<char> link(const std::string& ptx) const;
  CudaDriver::Handle load_image(const void* image) const;

  const CudaDriver& driver_;
  std::string identity_;  // of the driver and the GPU
  disk::ObjectCache cache_;
};

}  // namespace tenon::devices
