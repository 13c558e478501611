// Kernels of a module, loaded by a GPU's driver.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "devices/device.h"
#include "devices/gpu/cuda_driver.h"
#include "devices/gpu/gpu_linker.h"

namespace tenon::devices {

/// Safe to use from many threads once it is loaded. The linker must outlive it.
class GpuCode : public LoadedCode {
 public:
  using Handle = CudaDriver::Handle;

  struct Phase {
    Handle function = nullptr;  // with scratch in shared memory
    unsigned threads = 1;
    int64_t most_shared = 0;  // bytes that a launch may ask for
    bool has_scratch = true;
  };

  GpuCode(const CudaDriver& driver, GpuLinker& linker, Handle context)
      : driver_(driver), linker_(linker), context_(context) {}
  ~GpuCode() override;

  size_t size() const override { return of_kernels_.size(); }
  const Phase& phase(size_t kernel, int64_t phase) const {
    return phases_[static_cast<size_t>(of_kernels_[kernel])][static_cast<size_t>(phase)];
  }

  /// With scratch in the device's memory. The driver compiles it when it is asked for. Null: there is none.
  Handle in_device_memory(size_t kernel, int64_t phase) const;

  int64_t in_registers(size_t kernel) const { return in_registers_[static_cast<size_t>(of_kernels_[kernel])]; }

  void load(const Module& module, Pool& pool, int64_t shared_bytes);

 private:
  /// Why it failed, or nothing.
  std::string load_object(const std::vector<char>& bytes, size_t i, int64_t shared_bytes);
  /// The lines of kPtxCode that say how much scratch is in registers, and which phases have no other.
  void load_scratch(const std::string& text, size_t i);

  const CudaDriver& driver_;
  GpuLinker& linker_;
  Handle context_;
  std::vector<int64_t> in_registers_;  // bytes of a launch's scratch, by object
  mutable std::mutex mutex_;
  mutable std::vector<Handle> modules_;                          // by object; those of texts_ behind
  std::vector<std::shared_ptr<const std::vector<char>>> texts_;  // with scratch in the device's memory
  std::vector<std::vector<Phase>> phases_;                       // by object
  std::vector<int> of_kernels_;
};

}  // namespace tenon::devices
