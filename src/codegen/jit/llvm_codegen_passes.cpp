#include "codegen/jit/llvm_codegen_passes.h"

#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/CodeGen/MachineModuleInfo.h>
#include <llvm/CodeGen/Passes.h>
#include <llvm/CodeGen/TargetPassConfig.h>
#include <llvm/Pass.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/fail.h"

namespace tenon::codegen {

namespace {

// Addresses of our loops are sums of an index and what does not change, which x86 adds up by itself: loop strength
// reduction takes a third of the code generator's time there and leaves the loops as fast as they were.
constexpr std::string_view kStrengthReduction = "Loop Strength Reduction";

// Together a fifth of what remains. Loops of vectors have few copies, branches and common subexpressions left to find;
// kernels ran as fast without these on x86, which is where that was measured.
constexpr auto kUseless = std::to_array<std::string_view>({
    "Canonicalize Freeze Instructions in Loops",
    "Merge contiguous icmps into a memcmp",
    "Expand memcmp() to load/stores",
    "Partially inline calls to library functions",
    "Replace intrinsics with calls to vector library",
    "Constant Hoisting",
    "Interleaved Access Pass",
    "X86 Partial Reduction",
    "Exception handling preparation",
    "X86 Domain Reassignment Pass",
    "Early Tail Duplication",
    "Optimize machine instruction PHIs",
    "Early If-Conversion",
    "Machine InstCombiner",
    "X86 cmov Conversion",
    "Machine Common Subexpression Elimination",
    "Machine code sinking",
    "Live Range Shrink",
    "X86 LEA Optimize",
    "X86 Avoid Store Forwarding Blocks",
    "Stack Slot Coloring",
    "Machine Copy Propagation Pass",
    "Machine Loop Invariant Code Motion",
    "PostRA Machine Sink",
    "Machine Late Instructions Cleanup Pass",
    "Tail Duplication",
    "Post RA top-down list latency scheduler",
    "X86 Execution Dependency Fix",
    "X86 Byte/Word Instruction Fixup",
    "X86 LEA Fixup",
    "X86 Fixup Inst Tuning",
    "BreakFalseDeps",
});

// A tenth. The emitter writes several vectors side by side already; with twice 16 registers the order it chose spills
// as little as another would.
constexpr std::string_view kScheduler = "Machine Instruction Scheduler";

bool is_left_out(const llvm::Pass& pass, const CodegenPassesOptions& options) {
  const std::string_view name = pass.getPassName();
  if (name == kStrengthReduction) return true;
  if (options.effort != Effort::quick) return false;
  return (name == kScheduler && options.vector_registers >= 32) || std::ranges::find(kUseless, name) != kUseless.end();
}

/// Hands on all passes but those that are left out.
class Selection final : public llvm::legacy::PassManagerBase {
 public:
  Selection(llvm::legacy::PassManager& passes, const llvm::Triple& triple, const CodegenPassesOptions& options)
      : passes_(passes), all_(!triple.isX86()), options_(options) {}

  void add(llvm::Pass* pass) override {
    if (!all_ && is_left_out(*pass, options_)) {
      delete pass;  // NOLINT(cppcoreguidelines-owning-memory): pass managers own what they are given
    } else {
      passes_.add(pass);
    }
  }

 private:
  llvm::legacy::PassManager& passes_;
  bool all_;
  CodegenPassesOptions options_;
};

}  // namespace

CodegenPasses::CodegenPasses(llvm::TargetMachine& machine, const CodegenPassesOptions& options) {
  llvm::TargetLibraryInfoImpl library(machine.getTargetTriple());
  library.disableAllFunctions();  // as in optimize()
  passes_.add(new llvm::TargetLibraryInfoWrapperPass(library));

  auto& target = static_cast<llvm::LLVMTargetMachine&>(machine);  // as all that make code are
  Selection selection(passes_, machine.getTargetTriple(), options);
  auto* const modules = new llvm::MachineModuleInfoWrapperPass(&target);
  llvm::TargetPassConfig* const config = target.createPassConfig(selection);
  config->setDisableVerify(true);
  selection.add(config);
  selection.add(modules);
  const bool cannot_select = config->addISelPasses();
  config->addMachinePasses();
  config->setInitialized();
  const bool cannot_print =
      target.addAsmPrinter(selection, stream_, nullptr, options.output, modules->getMMI().getContext());
  TENON_CHECK(!cannot_select && !cannot_print, "{} does not write files of this kind", machine.getTargetTriple().str());
  selection.add(llvm::createFreeMachineFunctionPass());
}

llvm::SmallVector<char, 0> CodegenPasses::run(llvm::Module& module) {
  passes_.run(module);
  llvm::SmallVector<char, 0> result;
  result.swap(bytes_);
  return result;
}

}  // namespace tenon::codegen
