// The back end that makes PTX for NVIDIA's GPUs with LLVM. Only in builds that have it.
#pragma once

#include "backend/backend.h"

namespace tenon::backend {

/// Code is made without a GPU; the device is the first one of this machine.
class Gpu : public Backend {
 public:
  void describe(const Machine& machine, schedule::ScheduleOptions& options) const override;
  CompiledKernels compile(std::span<const loops::Kernel* const> kernels, const Machine& machine,
                          const CodeOptions& options) const override;
  CompiledKernels compile_for_file(std::span<const loops::Kernel* const> kernels, const Machine& machine,
                                   const CodeOptions& options) const override {
    return compile(kernels, machine, options);
  }
  /// Error: there is no GPU, or no driver.
  std::shared_ptr<devices::Device> device(Pool& pool, bool disk_cache) const override;
};

}  // namespace tenon::backend
