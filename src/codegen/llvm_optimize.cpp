#include "codegen/llvm_optimize.h"

#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Transforms/Instrumentation/AddressSanitizer.h>

#include "base/fail.h"

namespace tenon::codegen {

namespace {

// Measured on fused row kernels: LLVM's whole pipeline for -O2 leaves not one instruction less than this one, and the
// machine code that comes of the quick one is no longer either.
constexpr const char* kFull =
    "function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,loop-mssa(licm),gvn)";
constexpr const char* kQuick = "function(mem2reg,early-cse,simplifycfg,loop-mssa(licm),early-cse)";

// Nobody runs constructors of kernels, so their constants cannot be registered with the sanitizer: they go unchecked.
void exempt_constants(llvm::Module& module) {
  for (llvm::GlobalVariable& variable : module.globals()) {
    llvm::GlobalVariable::SanitizerMetadata exempt;
    exempt.NoAddress = true;
    variable.setSanitizerMetadata(exempt);
  }
}

}  // namespace

void optimize(llvm::Module& module, llvm::TargetMachine& machine, const OptimizeOptions& options) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::TargetLibraryInfoImpl library(machine.getTargetTriple());
  library.disableAllFunctions();
  functions.registerPass([&] { return llvm::TargetLibraryAnalysis(library); });

  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);

  llvm::ModulePassManager passes;
  llvm::Error error = builder.parsePassPipeline(passes, options.effort == Effort::quick ? kQuick : kFull);
  TENON_CHECK(!error, "{}", llvm::toString(std::move(error)));
  if (options.sanitize_address) {
    exempt_constants(module);
    for (llvm::Function& function : module) {
      if (!function.isDeclaration()) function.addFnAttr(llvm::Attribute::SanitizeAddress);
    }
    llvm::AddressSanitizerOptions sanitizer;
    sanitizer.UseAfterReturn = llvm::AsanDetectStackUseAfterReturnMode::Never;
    passes.addPass(llvm::AddressSanitizerPass(sanitizer, /*UseGlobalGC=*/false, /*UseOdrIndicator=*/false,
                                              llvm::AsanDtorKind::None, llvm::AsanCtorKind::None));
  }
  passes.run(module, modules);
}

}  // namespace tenon::codegen
