// The functions of a kernel for GPUs: one for each phase.
#include <fmt/format.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include <algorithm>

#include "codegen/emit/llvm_emission.h"
#include "codegen/emit/llvm_emit_gpu_kernel.h"
#include "kernel/loop/loop_threads.h"

namespace tenon::codegen {
namespace {

constexpr unsigned kSharedSpace = 3;
/// Threads of a block: two of them have 128 registers for each.
constexpr int64_t kMostOfTwo = 256;
/// So much of what is shared every block can have, on all GPUs.
constexpr int64_t kAlwaysShared = int64_t{96} << 10;

llvm::Value* special_register(Emission& e, llvm::Intrinsic::ID which) {
  return e.b.CreateZExt(e.b.CreateIntrinsic(which, {}, {}), e.i64());
}

/// The loop over the grid: blocks take its iterations in turn.
void emit_gpu_grid(Emission& e, const loops::Phase& phase, llvm::Value* begin, llvm::Value* end) {
  llvm::Value* const block = special_register(e, llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x);
  llvm::Value* const blocks = special_register(e, llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_x);
  llvm::Value* const first = e.b.CreateNSWAdd(begin, block);
  llvm::BasicBlock* const before = e.b.GetInsertBlock();
  llvm::BasicBlock* const inside = e.block("iteration");
  llvm::BasicBlock* const done = e.block("done");
  e.b.CreateCondBr(e.b.CreateICmpSLT(first, end), inside, done);
  e.b.SetInsertPoint(inside);
  llvm::PHINode* const iteration = e.b.CreatePHI(e.i64(), 2);
  iteration->addIncoming(first, before);
  llvm::Value* rest = iteration;
  for (size_t i = phase.grid.size(); i-- > 0;) {
    const auto axis = static_cast<size_t>(phase.grid[i]);
    llvm::Value* const size = extent(e, e.axis(phase.grid[i]).extent);
    e.axes[axis] = i == 0 ? rest : e.b.CreateURem(rest, size);
    if (i != 0) rest = e.b.CreateUDiv(rest, size);
    e.depths[axis] = static_cast<int>(i) + 1;
  }
  llvm::BasicBlock* const body = e.block("body");
  e.b.CreateBr(body);
  e.b.SetInsertPoint(body);
  for (const int axis : phase.grid)
    e.heads[static_cast<size_t>(axis)] = {.block = body};
  emit_block(e, phase.body);
  gpu_barrier(e);  // scratch is another iteration's from here on
  llvm::Value* const next = e.b.CreateNSWAdd(iteration, blocks);
  iteration->addIncoming(next, e.b.GetInsertBlock());
  e.b.CreateCondBr(e.b.CreateICmpSLT(next, end), inside, done);
  e.b.SetInsertPoint(done);
  for (const int axis : phase.grid)
    e.axes[static_cast<size_t>(axis)] = nullptr;
}

/// Where the scratch of this block begins: in shared memory, or in memory of the device, so much a block.
llvm::Value* scratch_of_block(Emission& e, ScratchPlace place, llvm::Value* memory, llvm::Value* bytes) {
  if (place == ScratchPlace::device) {
    llvm::Value* const block = special_register(e, llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x);
    return e.b.CreateGEP(e.b.getInt8Ty(), memory, e.b.CreateNSWMul(block, bytes));
  }
  llvm::GlobalVariable* shared = e.module.getGlobalVariable("tenon_scratch");
  if (shared == nullptr) {
    shared = new llvm::GlobalVariable(e.module, llvm::ArrayType::get(e.b.getInt8Ty(), 0), false,
                                      llvm::GlobalValue::ExternalLinkage, nullptr, "tenon_scratch", nullptr,
                                      llvm::GlobalValue::NotThreadLocal, kSharedSpace);
    shared->setAlignment(llvm::Align(64));
  }
  return e.b.CreateAddrSpaceCast(shared, e.b.getPtrTy());
}

void mark_as_kernel(Emission& e) {
  llvm::NamedMDNode* const notes = e.module.getOrInsertNamedMetadata("nvvm.annotations");
  const auto note = [&](const char* name, uint32_t value) {
    notes->addOperand(llvm::MDNode::get(
        e.context(), {llvm::ConstantAsMetadata::get(e.function), llvm::MDString::get(e.context(), name),
                      llvm::ConstantAsMetadata::get(e.b.getInt32(value))}));
  };
  note("kernel", 1);
  note("maxntidx", static_cast<uint32_t>(e.gpu->threads / e.gpu->lanes));
  // What a thread keeps in registers alone makes it use very many: two blocks are to fit a multiprocessor.
  const bool keeps = std::ranges::any_of(e.kernel.buffers, loops::is_private_scratch);
  if (keeps && e.gpu->threads <= kMostOfTwo) note("minctasm", 2);
}

/// void symbol(buffers that are no scratch..., sizes..., status, begin, end, scratch, bytes of scratch a block)
void emit_phase(Emission& e, const loops::Phase& phase, const std::string& symbol, ScratchPlace place) {
  llvm::Type* const pointer = e.b.getPtrTy();
  std::vector<llvm::Type*> types;
  for (const loops::Buffer& buffer : e.kernel.buffers) {
    if (buffer.role != loops::Role::scratch) types.push_back(pointer);
  }
  types.insert(types.end(), e.size_slots.size(), e.i64());
  types.insert(types.end(), {pointer, e.i64(), e.i64(), pointer, e.i64()});
  auto* const type = llvm::FunctionType::get(e.b.getVoidTy(), types, false);
  e.function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, symbol, e.module);
  e.function->setDoesNotThrow();
  unsigned next = 0;
  GpuBlock gpu;
  for (const loops::Buffer& buffer : e.kernel.buffers)
    gpu.buffers.push_back(buffer.role == loops::Role::scratch ? nullptr : e.function->getArg(next++));
  for (size_t i = 0; i < e.size_slots.size(); ++i)
    gpu.sizes.push_back(e.function->getArg(next++));
  gpu.status = e.function->getArg(next++);
  llvm::Value* const begin = e.function->getArg(next++);
  llvm::Value* const end = e.function->getArg(next++);
  llvm::Value* const memory = e.function->getArg(next++);
  llvm::Value* const bytes = e.function->getArg(next++);
  gpu.lanes = loops::iterations_of_thread(e.kernel, phase);
  gpu.threads = loops::threads_of(e.kernel, phase);
  gpu.group = gpu.threads / gpu.lanes;
  gpu.parts = e.module.getGlobalVariable("tenon_parts", true);
  gpu.shares_scratch = place == ScratchPlace::shared;
  e.gpu = &gpu;

  e.allocas = e.block("entry");
  e.entry = e.block("phase");
  llvm::BasicBlock* const body = e.block("grid");
  e.b.SetInsertPoint(e.allocas);
  e.b.CreateBr(e.entry);
  e.b.SetInsertPoint(e.entry);
  gpu.thread = special_register(e, llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x);
  const bool has_scratch = std::ranges::any_of(
      e.kernel.buffers, [](const loops::Buffer& each) { return each.role == loops::Role::scratch; });
  if (has_scratch) e.scratch = scratch_of_block(e, place, memory, bytes);
  e.b.CreateBr(body);
  e.b.SetInsertPoint(body);
  e.sizes.clear();
  e.nontemporal.assign(e.nontemporal_stores.size(), nullptr);
  e.buffers.assign(e.kernel.buffers.size(), nullptr);
  e.depths.assign(e.kernel.axes.size(), 0);
  emit_gpu_grid(e, phase, begin, end);
  e.b.CreateRetVoid();
  mark_as_kernel(e);
  e.gpu = nullptr;
}

/// Functions that only a CPU has.
void refuse_calls(const llvm::Module& module, const loops::Kernel& kernel) {
  for (const llvm::Function& function : module) {
    if (function.isDeclaration() && !function.isIntrinsic() && !function.use_empty()) {
      fail("kernel `{}` calls `{}`, which there is no code for on GPUs", kernel.name, function.getName().str());
    }
  }
}

}  // namespace

std::string gpu_symbol(size_t phase, ScratchPlace place) {
  return fmt::format("phase{}{}", phase, place == ScratchPlace::shared ? "" : "_in_device_memory");
}

bool may_need_device_memory(const loops::Kernel& kernel) {
  const std::optional<int64_t> scratch =
      (loops::scratch_bytes(kernel) - loops::private_scratch_bytes(kernel)).constant();
  return !scratch || *scratch > kAlwaysShared;
}

std::unique_ptr<llvm::Module> emit_gpu_kernel(llvm::LLVMContext& context, const loops::Kernel& kernel,
                                              const Target& target, ScratchPlace place) {
  auto module = std::make_unique<llvm::Module>("kernel", context);
  module->setTargetTriple(target.triple);
  const EmitOptions options;
  Emission e(*module, kernel, target, options);
  name_alias_scopes(e);
  llvm::Type* const words = llvm::ArrayType::get(e.i64(), 2 * loops::kMostThreads / 32);
  auto* const parts =
      new llvm::GlobalVariable(*module, words, false, llvm::GlobalValue::InternalLinkage, llvm::PoisonValue::get(words),
                               "tenon_parts", nullptr, llvm::GlobalValue::NotThreadLocal, kSharedSpace);
  parts->setAlignment(llvm::Align(8));
  for (size_t i = 0; i < kernel.phases.size(); ++i) {
    const bool is_needed = place == ScratchPlace::shared || loops::uses_block_scratch(kernel, kernel.phases[i]);
    if (is_needed) emit_phase(e, kernel.phases[i], gpu_symbol(i, place), place);
  }
  refuse_calls(*module, kernel);
  return module;
}

}  // namespace tenon::codegen
