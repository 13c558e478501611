// The passes from LLVM's IR to an object file.
#pragma once

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/Support/CodeGen.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include "codegen/jit/jit.h"

namespace tenon::codegen {

struct CodegenPassesOptions {
  llvm::CodeGenFileType output = llvm::CodeGenFileType::ObjectFile;
  Effort effort = Effort::full;
  int vector_registers = 16;
};

/// What TargetMachine::addPassesToEmitFile() adds, less what effort leaves out, for one module after the other: to set
/// the passes up takes about as long as to run them over the shortest function.
class CodegenPasses {
 public:
  /// `machine` must outlive it.
  CodegenPasses(llvm::TargetMachine& machine, const CodegenPassesOptions& options);

  llvm::SmallVector<char, 0> run(llvm::Module& module);

 private:
  llvm::SmallVector<char, 0> bytes_;
  llvm::raw_svector_ostream stream_{bytes_};
  llvm::legacy::PassManager passes_;
};

}  // namespace tenon::codegen
