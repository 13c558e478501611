// What LLVM does to the code that we emit, before it makes machine code of it.
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PassManager.h>
#include <llvm/Target/TargetMachine.h>

#include "codegen/jit/jit.h"

namespace llvm {
class PassBuilder;
}  // namespace llvm

namespace tenon::codegen {

/// Runs the passes that `add` adds, with all analyses that they may ask for. Calls to functions that happen to be named
/// like those of C stay calls.
void run_passes(llvm::Module& module, llvm::TargetMachine& machine,
                llvm::function_ref<void(llvm::ModulePassManager& passes, llvm::PassBuilder& builder)> add);

struct OptimizeOptions {
  bool sanitize_address = false;  ///< check every load and store against the address sanitizer's shadow
  Effort effort = Effort::full;
};

/// Clean up code whose vectors and unrolled loops are already there: registers for memory slots, common
/// subexpressions, invariants out of loops. Vectorizes, inlines and unrolls nothing; keeps the bits of every result
/// (nothing is reassociated or fused, and calls to functions that happen to be named like those of C stay calls).
void optimize(llvm::Module& module, llvm::TargetMachine& machine, const OptimizeOptions& options);

}  // namespace tenon::codegen
