// A kernel of the loop IR, mapped to blocks of threads, as an LLVM module for NVIDIA's GPUs.
#pragma once

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <memory>
#include <string>

#include "kernel/loop/loop.h"
#include "native/target.h"

namespace tenon::codegen {

/// Of each phase: how the function is called in the module. Its arguments are
///   a pointer to each buffer that is no scratch, an i64 for each of runtime_sizes(), a pointer to a KernelStatus,
///   the first iteration of the grid and the one behind the last,
///   a pointer to memory for scratch and the bytes of it that a block has; 0: it is shared memory, which the launch
///   asks for.
/// Blocks are lines of threads_of() threads; any number of them may be launched.
std::string gpu_symbol(size_t phase);

/// Error: it calls functions that only CPUs have.
std::unique_ptr<llvm::Module> emit_gpu_kernel(llvm::LLVMContext& context, const loops::Kernel& kernel,
                                              const Target& target);

}  // namespace tenon::codegen
