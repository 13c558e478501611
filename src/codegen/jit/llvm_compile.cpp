#include "codegen/jit/llvm_compile.h"

#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include <chrono>

#include "base/fail.h"
#include "codegen/jit/llvm_optimize.h"
#include "codegen/target/llvm_target.h"

namespace tenon::codegen {

namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

void verify(const llvm::Module& module, const std::string& symbol) {
  std::string problems;
  llvm::raw_string_ostream stream(problems);
  TENON_CHECK(!llvm::verifyModule(module, &stream), "the code of `{}` is malformed: {}", symbol, stream.str());
}

// The requested function gets its final name; everything else is its own business, so that no two kernels collide.
void settle_names(llvm::Module& module, const std::string& symbol, const std::string& name) {
  llvm::Function* const function = module.getFunction(symbol);
  TENON_CHECK(function != nullptr && !function->isDeclaration(), "the module does not define `{}`", symbol);
  function->setName(name);
  for (llvm::GlobalObject& object : module.global_objects()) {
    if (!object.isDeclaration()) {
      object.setLinkage(&object == function ? llvm::GlobalValue::ExternalLinkage : llvm::GlobalValue::InternalLinkage);
    }
  }
  for (llvm::Function& each : module) {
    each.setDoesNotThrow();  // no unwind tables
  }
}

}  // namespace

ModuleCompiler::ModuleCompiler(const Target& target) : target_(target), machine_(make_target_machine(target)) {}

CodegenPasses& ModuleCompiler::generator(llvm::CodeGenFileType output, Effort effort) {
  std::unique_ptr<CodegenPasses>& kept = generators_[{output, effort}];
  if (kept == nullptr) {
    const CodegenPassesOptions options{
        .output = output, .effort = effort, .vector_registers = target_.vector_registers};
    kept = std::make_unique<CodegenPasses>(*machine_, options);
  }
  return *kept;
}

llvm::SmallVector<char, 0> ModuleCompiler::compile(const CompileJob& job, CompileTimes& times) {
  llvm::LLVMContext context;
  const auto begin_emit = Clock::now();
  const std::unique_ptr<llvm::Module> module = job.request.emit(context);
  TENON_CHECK(module != nullptr, "no code was emitted for `{}`", job.request.symbol);
  verify(*module, job.request.symbol);
  times.emit_ms += milliseconds_since(begin_emit);

  const auto begin_optimize = Clock::now();
  settle_names(*module, job.request.symbol, job.name);
  apply_target(*module, target_, *machine_);
  optimize(*module, *machine_, {.sanitize_address = job.sanitize_address, .effort = job.request.effort});
  times.optimize_ms += milliseconds_since(begin_optimize);

  const auto begin_codegen = Clock::now();
  llvm::SmallVector<char, 0> bytes = generator(job.output, job.request.effort).run(*module);
  times.codegen_ms += milliseconds_since(begin_codegen);
  return bytes;
}

std::string emit_assembly(const Jit::Request& request, const Target& target) {
  CompileTimes times;
  const auto bytes = ModuleCompiler(target).compile(
      {.request = request, .name = request.symbol, .output = llvm::CodeGenFileType::AssemblyFile}, times);
  return {bytes.begin(), bytes.end()};
}

std::vector<char> emit_object(const Jit::Request& request, const Target& target, bool sanitize_address,
                              const std::string& name) {
  CompileTimes times;
  const CompileJob job = {
      .request = request, .name = name.empty() ? request.symbol : name, .sanitize_address = sanitize_address};
  const auto bytes = ModuleCompiler(target).compile(job, times);
  return {bytes.begin(), bytes.end()};
}

}  // namespace tenon::codegen
