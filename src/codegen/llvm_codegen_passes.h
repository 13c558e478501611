// The passes from LLVM's IR to an object file.
#pragma once

#include <llvm/IR/LegacyPassManager.h>
#include <llvm/Support/CodeGen.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include "codegen/jit.h"

namespace tenon::codegen {

/// What TargetMachine::addPassesToEmitFile() adds, less what `effort` leaves out. `machine` and `stream` must outlive
/// `passes`.
void add_code_generator(llvm::legacy::PassManager& passes, llvm::TargetMachine& machine,
                        llvm::raw_pwrite_stream& stream, llvm::CodeGenFileType output, Effort effort);

}  // namespace tenon::codegen
