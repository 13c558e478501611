// The passes from LLVM's IR to an object file.
#pragma once

#include <llvm/IR/LegacyPassManager.h>
#include <llvm/Support/CodeGen.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include "codegen/jit.h"

namespace tenon::codegen {

struct CodeGeneratorOptions {
  llvm::CodeGenFileType output = llvm::CodeGenFileType::ObjectFile;
  Effort effort = Effort::full;
  int vector_registers = 16;
};

/// What TargetMachine::addPassesToEmitFile() adds, less what effort leaves out. `machine` and `stream` must outlive
/// `passes`.
void add_code_generator(llvm::legacy::PassManager& passes, llvm::TargetMachine& machine,
                        llvm::raw_pwrite_stream& stream, const CodeGeneratorOptions& options);

}  // namespace tenon::codegen
