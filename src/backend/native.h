// The back end that makes machine code for CPUs with LLVM. Only in builds that have it.
#pragma once

#include "backend/backend.h"

namespace tenon::backend {

/// Its device shares the threads of the process's pool. Equal kernels are compiled once a process.
class Native : public Backend {
 public:
  void describe(const Machine& machine, schedule::ScheduleOptions& options) const override;
  CompiledKernels compile(std::span<const loops::Kernel* const> kernels, const Machine& machine,
                          const CodeOptions& options) const override;
  CompiledKernels compile_for_file(std::span<const loops::Kernel* const> kernels, const Machine& machine,
                                   const CodeOptions& options) const override;
  std::shared_ptr<devices::Device> device(Pool& pool, bool disk_cache) const override;
};

}  // namespace tenon::backend
