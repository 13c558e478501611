#include "codegen/target/llvm_target.h"

#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>

#include <mutex>

#include "base/fail.h"

namespace tenon::codegen {

namespace {

void initialize_llvm() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
}

}  // namespace

std::unique_ptr<llvm::TargetMachine> make_target_machine(const Target& target) {
  initialize_llvm();
  std::string error;
  const llvm::Target* const backend = llvm::TargetRegistry::lookupTarget(target.triple, error);
  TENON_CHECK(backend != nullptr, "{}", error);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  // Position-independent and small: code and constants of a kernel lie together, functions outside of it are called
  // through stubs that the linker makes.
  std::unique_ptr<llvm::TargetMachine> machine(
      backend->createTargetMachine(target.triple, target.cpu, target.features, options, llvm::Reloc::PIC_,
                                   llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default, /*JIT=*/true));
  TENON_CHECK(machine != nullptr, "no code generator for {}", target.triple);
  return machine;
}

void apply_target(llvm::Module& module, const Target& target, const llvm::TargetMachine& machine) {
  module.setTargetTriple(target.triple);
  module.setDataLayout(machine.createDataLayout());
  const std::string width = std::to_string(target.vector_bits);
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    // x86-64-v4 prefers half of its registers by default, for the sake of processors that slowed down otherwise.
    function.addFnAttr("prefer-vector-width", width);
    function.addFnAttr("min-legal-vector-width", width);
  }
}

}  // namespace tenon::codegen
