#include "codegen/compile_ptx.h"

#include <fmt/format.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include "base/fail.h"
#include "codegen/emit/llvm_emit_gpu_kernel.h"
#include "codegen/jit/llvm_optimize.h"
#include "codegen/target/llvm_target.h"

namespace tenon::codegen {
namespace {

/// What LLVM 19 knows and all that is emitted needs.
constexpr int64_t kPtx = 80;

Target gpu_target(const GpuMachine& gpu) {
  return {.name = gpu.architecture,
          .triple = "nvptx64-nvidia-cuda",
          .cpu = gpu.architecture,
          .features = fmt::format("+ptx{}", kPtx),
          .fma = true};
}

}  // namespace

std::string compile_ptx(const loops::Kernel& kernel, const Machine& machine) {
  const Target target = gpu_target(machine.gpu());
  const std::unique_ptr<llvm::TargetMachine> generator = make_target_machine(target);
  llvm::LLVMContext context;
  const std::unique_ptr<llvm::Module> module = emit_gpu_kernel(context, kernel, target);
  module->setDataLayout(generator->createDataLayout());
  std::string problems;
  llvm::raw_string_ostream stream(problems);
  TENON_CHECK(!llvm::verifyModule(*module, &stream), "the code of `{}` is malformed: {}", kernel.name, stream.str());
  run_passes(*module, *generator, [](llvm::ModulePassManager& passes, llvm::PassBuilder& builder) {
    passes = builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2);
  });
  llvm::SmallVector<char, 0> text;
  llvm::raw_svector_ostream out(text);
  llvm::legacy::PassManager passes;
  TENON_CHECK(!generator->addPassesToEmitFile(passes, out, nullptr, llvm::CodeGenFileType::AssemblyFile),
              "no PTX for {}", target.cpu);
  passes.run(*module);
  return {text.begin(), text.end()};
}

}  // namespace tenon::codegen
