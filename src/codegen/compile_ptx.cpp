#include "codegen/compile_ptx.h"

#include <fmt/format.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/Scalar/InferAddressSpaces.h>
#include <llvm/Transforms/Scalar/InferAlignment.h>

#include <algorithm>
#include <utility>

#include "base/fail.h"
#include "codegen/emit/llvm_emit_gpu_kernel.h"
#include "codegen/jit/llvm_optimize.h"
#include "codegen/target/llvm_target.h"
#include "kernel/loop/loop_threads.h"

namespace tenon::codegen {
namespace {

/// What LLVM 19 knows and all that is emitted needs.
constexpr int64_t kPtx = 80;

Target gpu_target(const GpuMachine& gpu) {
  return {.name = gpu.architecture,
          .triple = "nvptx64-nvidia-cuda",
          .cpu = gpu.architecture,
          .features = fmt::format("+ptx{}", kPtx),
          .fma = true,
          .f16_convert = true};
}

/// How much of a launch's scratch is in registers, and which phases have no other, in the words of devices::kPtxCode.
std::string notes_on_scratch(const loops::Kernel& kernel) {
  const std::optional<int64_t> bytes = loops::private_scratch_bytes(kernel).constant();
  TENON_CHECK(bytes.has_value(), "{}: scratch of threads whose size is not known", kernel.name);
  std::string text = *bytes == 0 ? "" : fmt::format("//in registers {}\n", *bytes);
  for (size_t i = 0; i < kernel.phases.size(); ++i)
    text += loops::uses_block_scratch(kernel, kernel.phases[i]) ? "" : fmt::format("//no scratch {}\n", i);
  return text;
}

}  // namespace

std::string compile_ptx(const loops::Kernel& kernel, const Machine& machine, bool in_device_memory) {
  if (in_device_memory && !may_need_device_memory(kernel)) return {};
  const ScratchPlace place = in_device_memory ? ScratchPlace::device : ScratchPlace::shared;
  const Target target = gpu_target(machine.gpu());
  const std::unique_ptr<llvm::TargetMachine> generator = make_target_machine(target);
  llvm::LLVMContext context;
  const std::unique_ptr<llvm::Module> module = emit_gpu_kernel(context, kernel, target, place);
  module->setDataLayout(generator->createDataLayout());
  std::string problems;
  llvm::raw_string_ostream stream(problems);
  TENON_CHECK(!llvm::verifyModule(*module, &stream), "the code of `{}` is malformed: {}", kernel.name, stream.str());
  run_passes(*module, *generator, [](llvm::ModulePassManager& passes, llvm::PassBuilder& builder) {
    passes = builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2);
    // What is shared is known to be, and where: the back end then joins accesses that lie side by side.
    llvm::FunctionPassManager last;
    last.addPass(llvm::InferAddressSpacesPass());
    last.addPass(llvm::InferAlignmentPass());
    passes.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(last)));
  });
  llvm::SmallVector<char, 0> text;
  llvm::raw_svector_ostream out(text);
  llvm::legacy::PassManager passes;
  TENON_CHECK(!generator->addPassesToEmitFile(passes, out, nullptr, llvm::CodeGenFileType::AssemblyFile),
              "no PTX for {}", target.cpu);
  passes.run(*module);
  const std::string code(text.begin(), text.end());
  return in_device_memory ? code : code + notes_on_scratch(kernel);
}

}  // namespace tenon::codegen
