// Kernels that are mapped to blocks of threads, as PTX.
#pragma once

#include <string>

#include "kernel/loop/loop.h"
#include "tenon/machine.h"

namespace tenon::codegen {

/// The PTX of a kernel for a GPU: an entry for each phase (emit/llvm_emit_gpu_kernel.h), with scratch in memory that a
/// block shares, or in memory of the device; then empty where it always fits the other. Error: the machine is no GPU,
/// or the kernel calls functions that only CPUs have.
std::string compile_ptx(const loops::Kernel& kernel, const Machine& machine, bool in_device_memory);

}  // namespace tenon::codegen
