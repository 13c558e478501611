// The function of a kernel: phases, and the loop over the grid.
#include <llvm/IR/Constants.h>

#include "codegen/emit/llvm_emission.h"
#include "codegen/emit/llvm_emit_kernel.h"
#include "codegen/math/llvm_scalar.h"
#include "kernel/loop/loop_threads.h"
#include "kernel/loop/loop_walk.h"

namespace tenon::codegen {

namespace {

/// How often each value is an operand, once for every statement.
std::vector<int> count_uses(const loops::Kernel& kernel) {
  std::vector<int> uses(kernel.values.size());
  const auto use = [&](int value) { ++uses[static_cast<size_t>(value)]; };
  const auto visit = [&](const loops::Statement& statement) {
    if (const auto* define = std::get_if<loops::Define>(&statement.what)) {
      const loops::Value& value = kernel.values[static_cast<size_t>(define->value)];
      if (const auto* compute = std::get_if<loops::Compute>(&value.what)) {
        for (const int operand : compute->operands)
          use(operand);
      } else if (const auto* load = std::get_if<loops::Load>(&value.what)) {
        for (const loops::Lookup& lookup : load->lookups)
          use(lookup.value);
      }
    } else if (const auto* store = std::get_if<loops::Store>(&statement.what)) {
      use(store->value);
    } else if (const auto* accumulate = std::get_if<loops::Accumulate>(&statement.what)) {
      const loops::Accumulator& accumulator = kernel.accumulators[static_cast<size_t>(accumulate->accumulator)];
      use(accumulator.input);
      if (accumulator.position >= 0) use(accumulator.position);
    }
  };
  for (const loops::Phase& phase : kernel.phases)
    for_each_statement(phase.body, visit);
  return uses;
}

/// The one place where a product and a sum are rounded together: a product that is only added to an accumulator.
std::vector<bool> fused_products(const loops::Kernel& kernel, const Target& target) {
  std::vector<bool> fused(kernel.values.size());
  if (!target.fma) return fused;
  const std::vector<int> uses = count_uses(kernel);
  // Sums that products took over are still listed, and fed nowhere: what they would have summed may be used elsewhere.
  const auto visit = [&](const loops::Statement& statement) {
    const auto* const fed = std::get_if<loops::Accumulate>(&statement.what);
    if (fed == nullptr) return;
    const loops::Accumulator& accumulator = kernel.accumulators[static_cast<size_t>(fed->accumulator)];
    const auto input = static_cast<size_t>(accumulator.input);
    const auto* compute = std::get_if<loops::Compute>(&kernel.values[input].what);
    fused[input] = accumulator.op == ReduceOp::sum && is_float(accumulator.dtype) && compute != nullptr &&
                   compute->prim == Prim::mul && uses[input] == 1;
  };
  for (const loops::Phase& phase : kernel.phases)
    for_each_statement(phase.body, visit);
  return fused;
}

/// The loop over [begin, end) of the grid. Division finds the axes of the first iteration; from there they count like
/// digits.
void emit_grid(Emission& e, const loops::Phase& phase, llvm::Value* begin, llvm::Value* end) {
  llvm::BasicBlock* const start = e.block("grid");
  llvm::BasicBlock* const inside = e.block("iteration");
  llvm::BasicBlock* const done = e.block("done");
  e.b.CreateCondBr(e.b.CreateICmpSLT(begin, end), start, done);
  e.b.SetInsertPoint(start);
  std::vector<llvm::Value*> first(phase.grid.size());
  llvm::Value* rest = begin;
  for (size_t i = phase.grid.size(); i-- > 0;) {
    llvm::Value* const size = extent(e, e.axis(phase.grid[i]).extent);
    first[i] = i == 0 ? rest : e.b.CreateURem(rest, size);
    if (i != 0) rest = e.b.CreateUDiv(rest, size);
  }
  e.b.CreateBr(inside);

  e.b.SetInsertPoint(inside);
  llvm::PHINode* const iteration = e.b.CreatePHI(e.i64(), 2);
  iteration->addIncoming(begin, start);
  std::vector<llvm::PHINode*> digits;
  for (size_t i = 0; i < phase.grid.size(); ++i) {
    const auto axis = static_cast<size_t>(phase.grid[i]);
    if (phase.grid.size() > 1) {
      digits.push_back(e.b.CreatePHI(e.i64(), 2));
      digits.back()->addIncoming(first[i], start);
    }
    e.axes[axis] = digits.empty() ? iteration : digits.back();
    e.heads[axis] = {.block = inside};
    e.depths[axis] = static_cast<int>(i) + 1;
  }
  emit_block(e, phase.body);

  llvm::Value* const next = e.b.CreateAdd(iteration, e.b.getInt64(1), "", /*HasNUW=*/true, /*HasNSW=*/true);
  iteration->addIncoming(next, e.b.GetInsertBlock());
  llvm::Value* carry = e.b.getTrue();
  for (size_t i = digits.size(); i-- > 0;) {
    llvm::Value* const more = e.b.CreateAdd(digits[i], e.b.CreateZExt(carry, e.i64()));
    llvm::Value* const wraps =
        i == 0 ? e.b.getFalse() : e.b.CreateICmpEQ(more, extent(e, e.axis(phase.grid[i]).extent));
    digits[i]->addIncoming(e.b.CreateSelect(wraps, e.b.getInt64(0), more), e.b.GetInsertBlock());
    carry = wraps;
  }
  e.b.CreateCondBr(e.b.CreateICmpSLT(next, end), inside, done);
  e.b.SetInsertPoint(done);
  for (const int axis : phase.grid)
    e.axes[static_cast<size_t>(axis)] = nullptr;
}

/// void symbol(const KernelArgs*, int64_t phase, int64_t begin, int64_t end, void* scratch)
void emit_function(Emission& e, const std::string& symbol) {
  llvm::Type* const pointer = e.b.getPtrTy();
  auto* const type = llvm::FunctionType::get(e.b.getVoidTy(), {pointer, e.i64(), e.i64(), e.i64(), pointer}, false);
  e.function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, symbol, e.module);
  e.function->setDoesNotThrow();
  e.function->addParamAttr(0, llvm::Attribute::NoAlias);
  e.function->addParamAttr(4, llvm::Attribute::getWithAlignment(e.context(), llvm::Align(64)));
  e.args = e.function->getArg(0);
  e.scratch = e.function->getArg(4);

  e.allocas = e.block("entry");
  llvm::BasicBlock* const dispatch = e.block("dispatch");
  llvm::BasicBlock* const leave = e.block("leave");
  e.b.SetInsertPoint(e.allocas);
  e.b.CreateBr(dispatch);
  e.b.SetInsertPoint(leave);
  e.b.CreateRetVoid();

  std::vector<llvm::BasicBlock*> starts;
  for (const loops::Phase& phase : e.kernel.phases) {
    e.entry = e.block("phase");
    starts.push_back(e.entry);
    e.sizes.clear();
    e.nontemporal.assign(e.nontemporal_stores.size(), nullptr);
    e.buffers.assign(e.kernel.buffers.size(), nullptr);
    e.depths.assign(e.kernel.axes.size(), 0);
    llvm::BasicBlock* const body = e.block("body");
    e.b.SetInsertPoint(e.entry);
    e.b.CreateBr(body);
    e.b.SetInsertPoint(body);
    emit_grid(e, phase, e.function->getArg(2), e.function->getArg(3));
    order_nontemporal_stores(e);
    e.b.CreateBr(leave);
  }

  e.b.SetInsertPoint(dispatch);
  if (starts.size() == 1) {
    e.b.CreateBr(starts[0]);
    return;
  }
  llvm::SwitchInst* const choice = e.b.CreateSwitch(e.function->getArg(1), leave);
  for (size_t i = 0; i < starts.size(); ++i)
    choice->addCase(e.b.getInt64(i), starts[i]);
}

}  // namespace

Emission::Emission(llvm::Module& into, const loops::Kernel& what, const Target& machine, const EmitOptions& how)
    : module(into),
      kernel(what),
      target(machine),
      options(how),
      b(into.getContext()),
      scalar_context{b, math_options(machine)},
      fused(fused_products(what, machine)),
      prefetches(plan_prefetches(what)),
      nontemporal_stores(plan_nontemporal_stores(what, machine)),
      axes(what.axes.size()),
      heads(what.axes.size()),
      values(what.values.size()),
      in_vector_loop(what.values.size()),
      accumulators(what.accumulators.size()),
      parts(what.accumulators.size()),
      most_threads(loops::most_threads(what)) {
  const std::vector<Extent> slots = runtime_sizes(kernel);
  for (size_t i = 0; i < slots.size(); ++i)
    size_slots.emplace(slots[i], static_cast<int>(i));
}

llvm::Value* Emission::in_block(llvm::BasicBlock* place, const std::function<llvm::Value*()>& emit) {
  const llvm::IRBuilderBase::InsertPointGuard guard(b);
  b.SetInsertPoint(place->getTerminator());
  return emit();
}

llvm::Value* Emission::in_head_of(const std::vector<loops::Term>& terms, const std::function<llvm::Value*()>& emit) {
  int innermost = -1;
  for (const loops::Term& term : terms) {
    const auto axis = static_cast<size_t>(term.axis);
    if (axes[axis] == nullptr || llvm::isa<llvm::Constant>(axes[axis])) continue;  // of a loop that is written out
    if (innermost < 0 || depths[axis] > depths[static_cast<size_t>(innermost)]) innermost = term.axis;
  }
  if (innermost < 0) return in_block(entry, emit);
  LoopHead& head = heads[static_cast<size_t>(innermost)];
  const llvm::IRBuilderBase::InsertPointGuard guard(b);
  auto* const from = head.last != nullptr ? head.last->getNextNode() : head.block->getFirstNonPHI();
  from != nullptr ? b.SetInsertPoint(from) : b.SetInsertPoint(head.block);
  llvm::Value* const value = emit();
  if (b.GetInsertPoint() != head.block->begin()) {
    llvm::Instruction* const last = &*std::prev(b.GetInsertPoint());
    if (!llvm::isa<llvm::PHINode>(last)) head.last = last;
  }
  return value;
}

std::unique_ptr<llvm::Module> emit_kernel(llvm::LLVMContext& context, const loops::Kernel& kernel,
                                          const std::string& symbol, const Target& target, const EmitOptions& options) {
  auto module = std::make_unique<llvm::Module>(symbol, context);
  Emission e(*module, kernel, target, options);
  name_alias_scopes(e);
  emit_function(e, symbol);
  return module;
}

}  // namespace tenon::codegen
