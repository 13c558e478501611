// The back end whose code is the loops themselves: what runs kernels in a build without LLVM.
#pragma once

#include "backend/backend.h"

namespace tenon::backend {

/// Its modules run on any machine, slowly.
class Interpreted : public Backend {
 public:
  void describe(const Machine& machine, schedule::ScheduleOptions& options) const override;
  CompiledKernels compile(std::span<const loops::Kernel* const> kernels, const Machine& machine,
                          const CodeOptions& options) const override;
  CompiledKernels compile_for_file(std::span<const loops::Kernel* const> kernels, const Machine& machine,
                                   const CodeOptions& options) const override {
    return compile(kernels, machine, options);
  }
  std::shared_ptr<devices::Device> device(Pool& pool, bool disk_cache) const override;
};

}  // namespace tenon::backend
