// One request through LLVM: a module is emitted, optimized and becomes machine code.
#pragma once

#include <llvm/ADT/SmallVector.h>
#include <llvm/Support/CodeGen.h>
#include <llvm/Target/TargetMachine.h>

#include <string>

#include "codegen/jit.h"

namespace tenon::codegen {

struct CompileTimes {
  double emit_ms = 0;
  double optimize_ms = 0;
  double codegen_ms = 0;
};

struct CompileJob {
  const Jit::Request& request;
  std::string name;  ///< of the function in the result, the one name that others see
  bool sanitize_address = false;
  llvm::CodeGenFileType output = llvm::CodeGenFileType::ObjectFile;
};

/// The object file or the assembly of `job` for `target`, whose code generator is `machine`.
llvm::SmallVector<char, 0> compile_module(const CompileJob& job, const Target& target, llvm::TargetMachine& machine,
                                          CompileTimes& times);

}  // namespace tenon::codegen
