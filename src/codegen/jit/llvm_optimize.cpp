#include "codegen/jit/llvm_optimize.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Transforms/Instrumentation/AddressSanitizer.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

#include "base/fail.h"

namespace tenon::codegen {

namespace {

/// Moves what a loop does not change in front of it. LLVM's own pass moves loads as well, which our loops have few of
/// and which take it an analysis of memory to prove, and conditions, which cost nothing where they are and in front of
/// the loops take registers: of those there are too few, and to share them out is a tenth of the code generator's time.
struct HoistInvariants : llvm::PassInfoMixin<HoistInvariants> {
  static llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
    const auto loops = analyses.getResult<llvm::LoopAnalysis>(function).getLoopsInPreorder();
    for (llvm::Loop* loop : llvm::reverse(loops)) {  // inner ones first: what left one may leave the next
      llvm::BasicBlock* const before = loop->getLoopPreheader();
      if (before == nullptr) continue;
      for (llvm::BasicBlock* block : loop->blocks()) {
        for (llvm::Instruction& each : llvm::make_early_inc_range(*block)) {
          const bool moves = !each.getType()->isIntegerTy(1) && !llvm::isa<llvm::PHINode>(each) &&
                             !each.mayReadOrWriteMemory() && loop->hasLoopInvariantOperands(&each) &&
                             llvm::isSafeToSpeculativelyExecute(&each);
          if (moves) each.moveBefore(before->getTerminator());
        }
      }
    }
    llvm::PreservedAnalyses preserved;
    preserved.preserveSet<llvm::CFGAnalyses>();
    return preserved;
  }
};

/// Measured on fused row kernels: LLVM's whole pipeline for -O2 leaves not one instruction less than the full one here;
/// with the quick one the loops of the counts table have as many as when LLVM moved their invariants, up to one.
void add_cleanup(llvm::ModulePassManager& passes, llvm::PassBuilder& builder, Effort effort) {
  constexpr const char* kFull =
      "sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,loop-mssa(licm),gvn";
  constexpr const char* kQuick = "mem2reg,early-cse";
  llvm::FunctionPassManager functions;
  llvm::Error error = builder.parsePassPipeline(functions, effort == Effort::quick ? kQuick : kFull);
  TENON_CHECK(!error, "{}", llvm::toString(std::move(error)));
  if (effort == Effort::quick) {
    functions.addPass(HoistInvariants());
    functions.addPass(llvm::SimplifyCFGPass());
  }
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(functions)));
}

// Nobody runs constructors of kernels, so their constants cannot be registered with the sanitizer: they go unchecked.
void exempt_constants(llvm::Module& module) {
  for (llvm::GlobalVariable& variable : module.globals()) {
    llvm::GlobalVariable::SanitizerMetadata exempt;
    exempt.NoAddress = true;
    variable.setSanitizerMetadata(exempt);
  }
}

}  // namespace

void run_passes(llvm::Module& module, llvm::TargetMachine& machine,
                llvm::function_ref<void(llvm::ModulePassManager& passes, llvm::PassBuilder& builder)> add) {
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
  add(passes, builder);
  passes.run(module, modules);
}

void optimize(llvm::Module& module, llvm::TargetMachine& machine, const OptimizeOptions& options) {
  run_passes(module, machine, [&](llvm::ModulePassManager& passes, llvm::PassBuilder& builder) {
    add_cleanup(passes, builder, options.effort);
    if (!options.sanitize_address) {
      return;
    }
    exempt_constants(module);
    for (llvm::Function& function : module) {
      if (!function.isDeclaration()) function.addFnAttr(llvm::Attribute::SanitizeAddress);
    }
    llvm::AddressSanitizerOptions sanitizer;
    sanitizer.UseAfterReturn = llvm::AsanDetectStackUseAfterReturnMode::Never;
    passes.addPass(llvm::AddressSanitizerPass(sanitizer, /*UseGlobalGC=*/false, /*UseOdrIndicator=*/false,
                                              llvm::AsanDtorKind::None, llvm::AsanCtorKind::None));
  });
}

}  // namespace tenon::codegen
