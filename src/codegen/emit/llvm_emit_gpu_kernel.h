// A kernel of the loop IR, mapped to blocks of threads, as an LLVM module for NVIDIA's GPUs.
#pragma once

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <memory>
#include <string>

#include "kernel/loop/loop.h"
#include "native/target.h"

namespace tenon::codegen {

/// Where the scratch of a block is: in memory that its threads share, which the launch asks for, or in memory of the
/// device.
enum class ScratchPlace : uint8_t { shared, device };

/// Of each phase: how the function is called in the module. Its arguments are
///   a pointer to each buffer that is no scratch, an i64 for each of runtime_sizes(), a pointer to a KernelStatus,
///   the first iteration of the grid and the one behind the last,
///   a pointer to memory for scratch in the device's memory and the bytes of it that a block has.
/// Blocks are lines of threads_of() / iterations_of_thread() threads; any number of them may be launched. There is no
/// function for scratch in the device's memory where every GPU has enough of the other, or none is used.
std::string gpu_symbol(size_t phase, ScratchPlace place);

/// Whether there are sizes for which scratch does not fit what every GPU has in shared memory.
bool may_need_device_memory(const loops::Kernel& kernel);

/// With scratch in this place; in the device's memory, phases that use scratch alone. Error: it calls functions that
/// only CPUs have.
std::unique_ptr<llvm::Module> emit_gpu_kernel(llvm::LLVMContext& context, const loops::Kernel& kernel,
                                              const Target& target, ScratchPlace place);

}  // namespace tenon::codegen
