// A kernel of the loop IR as an LLVM module.
#pragma once

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <memory>
#include <string>

#include "codegen/emit/emit_kernel.h"
#include "kernel/loop/loop.h"
#include "native/target.h"

namespace tenon::codegen {

/// A module that defines the function `symbol`, a KernelFunction (kernel/abi.h). The kernel must be well-formed. Names
/// of axes and of the kernel leave no trace: kernels of equal canonical text give equal code.
std::unique_ptr<llvm::Module> emit_kernel(llvm::LLVMContext& context, const loops::Kernel& kernel,
                                          const std::string& symbol, const Target& target, const EmitOptions& options);

}  // namespace tenon::codegen
