#include "codegen/math/scalar_loop.h"

#include <llvm/IR/Module.h>

#include <algorithm>
#include <map>

#include "base/fail.h"
#include "codegen/math/llvm_scalar.h"

namespace tenon::codegen {
namespace {

constexpr const char* kLoopSymbol = "scalar_loop";

/// Everything that the code depends on.
std::string key(const ScalarProgram& program, const ScalarLoopOptions& options) {
  const MathOptions& math = options.math;
  std::string text =
      fmt::format("loop lanes={} fma={} f16={} scale={} tables={} limits={} loads_addends={}", options.lanes, math.fma,
                  math.f16, math.scale, math.tables, math.limits, math.loads_addends);
  for (const ScalarInstruction& in : program.code) {
    text += fmt::format(";{} {} {} {} {} {} {:a}", name(in.prim), name(in.dtype), name(in.operand_dtype), in.a, in.b,
                        in.c, in.literal);
  }
  return fmt::format("{};results {}", text, fmt::join(program.results, " "));
}

std::unique_ptr<llvm::Module> emit(llvm::LLVMContext& llvm_context, const ScalarProgram& program,
                                   const ScalarLoopOptions& options) {
  auto module = std::make_unique<llvm::Module>(kLoopSymbol, llvm_context);
  llvm::IRBuilder<> b(llvm_context);
  auto* signature = llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy(), b.getPtrTy(), b.getInt64Ty()}, false);
  auto* function = llvm::Function::Create(signature, llvm::Function::ExternalLinkage, kLoopSymbol, *module);
  auto* entry = llvm::BasicBlock::Create(llvm_context, "entry", function);
  auto* head = llvm::BasicBlock::Create(llvm_context, "head", function);
  auto* body = llvm::BasicBlock::Create(llvm_context, "body", function);
  auto* done = llvm::BasicBlock::Create(llvm_context, "done", function);

  b.SetInsertPoint(entry);
  const auto pointer = [&](unsigned argument, size_t index) {
    return b.CreateLoad(b.getPtrTy(), b.CreateConstGEP1_64(b.getPtrTy(), function->getArg(argument), index));
  };
  std::map<size_t, std::pair<llvm::Value*, Dtype>> sources;
  for (const ScalarInstruction& in : program.code) {
    if (in.prim == Prim::argument) {
      const auto index = static_cast<size_t>(in.a);
      sources.try_emplace(index, pointer(0, index), in.dtype);
    }
  }
  std::vector<llvm::Value*> targets;
  for (size_t i = 0; i < program.results.size(); ++i) {
    targets.push_back(pointer(1, i));
  }
  b.CreateBr(head);

  b.SetInsertPoint(head);
  llvm::PHINode* index = b.CreatePHI(b.getInt64Ty(), 2);
  index->addIncoming(b.getInt64(0), entry);
  b.CreateCondBr(b.CreateICmpSLT(index, function->getArg(2)), body, done);

  b.SetInsertPoint(body);
  const EmitContext context{b, options.math};
  const auto element = [&](llvm::Value* base, Dtype dtype) {
    return b.CreateGEP(memory_type(llvm_context, dtype, 0), base, index);
  };
  const auto alignment = [](Dtype dtype) { return llvm::Align(byte_size(dtype)); };
  std::vector<llvm::Value*> arguments(sources.empty() ? 0 : sources.rbegin()->first + 1);
  for (const auto& [argument, source] : sources) {
    const auto [base, dtype] = source;
    llvm::Value* memory =
        b.CreateAlignedLoad(memory_type(llvm_context, dtype, options.lanes), element(base, dtype), alignment(dtype));
    arguments[argument] = widen(context, dtype, memory);
  }
  const std::vector<llvm::Value*> values = emit_program(context, program, arguments, options.lanes);
  for (size_t i = 0; i < values.size(); ++i) {
    const Dtype dtype = program.code[static_cast<size_t>(program.results[i])].dtype;
    b.CreateAlignedStore(narrow(context, dtype, values[i]), element(targets[i], dtype), alignment(dtype));
  }
  index->addIncoming(b.CreateAdd(index, b.getInt64(std::max(1U, options.lanes))), b.GetInsertBlock());
  b.CreateBr(head);

  b.SetInsertPoint(done);
  b.CreateRetVoid();
  return module;
}

}  // namespace

Jit::Request scalar_loop(const ScalarProgram& program, ScalarLoopOptions options) {
  return {.key = key(program, options), .symbol = kLoopSymbol, .emit = [program, options](llvm::LLVMContext& context) {
            return emit(context, program, options);
          }};
}

}  // namespace tenon::codegen
