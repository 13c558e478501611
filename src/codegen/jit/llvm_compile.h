// One request through LLVM: a module is emitted, optimized and becomes machine code.
#pragma once

#include <llvm/ADT/SmallVector.h>
#include <llvm/Support/CodeGen.h>
#include <llvm/Target/TargetMachine.h>

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "codegen/jit/jit.h"
#include "codegen/jit/llvm_codegen_passes.h"

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

/// Makes code for one target, one module at a time. Costly to make, so keep it.
class ModuleCompiler {
 public:
  explicit ModuleCompiler(const Target& target);

  /// The object file or the assembly of `job`.
  llvm::SmallVector<char, 0> compile(const CompileJob& job, CompileTimes& times);

 private:
  CodegenPasses& generator(llvm::CodeGenFileType output, Effort effort);

  Target target_;
  std::unique_ptr<llvm::TargetMachine> machine_;
  std::map<std::pair<llvm::CodeGenFileType, Effort>, std::unique_ptr<CodegenPasses>> generators_;  // as they are needed
};

}  // namespace tenon::codegen
