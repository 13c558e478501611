// Sums of f32 over many steps: what they have so far moves to f64 from time to time, so that it does not outgrow what
// is added.
#include <llvm/IR/Constants.h>

#include <algorithm>
#include <utility>

#include "codegen/emit/llvm_emission.h"
#include "kernel/product/product.h"

namespace tenon::codegen {

namespace {

llvm::Type* wide_type(llvm::Type* floats) {
  return floats->getWithNewType(llvm::Type::getDoubleTy(floats->getContext()));
}

llvm::Value* held_in(Emission& e, const OpenAccumulator::Slot& slot) {
  return e.b.CreateLoad(llvm::cast<llvm::AllocaInst>(slot.memory.value)->getAllocatedType(), slot.memory.value);
}

/// A stack slot that is zero when the accumulator begins.
llvm::Value* zero_slot(Emission& e, const OpenAccumulator& open, llvm::Type* type) {
  llvm::Value* const slot = e.in_block(e.allocas, [&] { return e.b.CreateAlloca(type); });
  e.in_block(open.begin, [&] { return e.b.CreateStore(llvm::Constant::getNullValue(type), slot); });
  return slot;
}

/// What the slot that was fed last holds goes to f64.
void move_out(Emission& e, int index) {
  OpenAccumulator& open = e.accumulators[static_cast<size_t>(index)];
  OpenAccumulator::Slot& slot = open.slots[open.last_slot];
  llvm::Type* const type = llvm::cast<llvm::AllocaInst>(slot.memory.value)->getAllocatedType();
  if (open.has_moved == nullptr) open.has_moved = zero_slot(e, open, e.b.getInt1Ty());
  if (slot.moved == nullptr) slot.moved = zero_slot(e, open, wide_type(type));
  e.b.CreateStore(read_with_moved(e, slot), slot.moved);
  e.b.CreateStore(llvm::Constant::getNullValue(type), slot.memory.value);
  e.b.CreateStore(e.b.getTrue(), open.has_moved);
}

/// Room for a slot in f64. It is read and written as memory: in registers it would take those of loops that never need
/// it.
llvm::Value* wide_slot(Emission& e, int index) {
  const OpenAccumulator& open = e.accumulators[static_cast<size_t>(index)];
  auto* const narrow = llvm::cast<llvm::AllocaInst>(open.slots[open.last_slot].memory.value);
  return e.in_block(e.allocas, [&] { return e.b.CreateAlloca(wide_type(narrow->getAllocatedType())); });
}

/// What the slot that was fed last holds goes to `wide`, for the first time or to what is there.
void move_part(Emission& e, int index, llvm::Value* wide, llvm::Value* is_first) {
  const OpenAccumulator& open = e.accumulators[static_cast<size_t>(index)];
  const OpenAccumulator::Slot& slot = open.slots[open.last_slot];
  llvm::Value* const held = held_in(e, slot);
  llvm::Type* const type = wide_type(held->getType());
  llvm::Value* const before =
      e.b.CreateSelect(is_first, llvm::Constant::getNullValue(type), e.b.CreateLoad(type, wide, /*isVolatile=*/true));
  e.b.CreateStore(e.b.CreateFAdd(before, e.b.CreateFPExt(held, type)), wide, /*isVolatile=*/true);
  e.b.CreateStore(llvm::Constant::getNullValue(held->getType()), slot.memory.value);
}

/// And all of it back, rounded once.
void move_back(Emission& e, int index, llvm::Value* wide) {
  const OpenAccumulator& open = e.accumulators[static_cast<size_t>(index)];
  const OpenAccumulator::Slot& slot = open.slots[open.last_slot];
  llvm::Value* const held = held_in(e, slot);
  llvm::Type* const type = wide_type(held->getType());
  llvm::Value* const total =
      e.b.CreateFAdd(e.b.CreateLoad(type, wide, /*isVolatile=*/true), e.b.CreateFPExt(held, type));
  e.b.CreateStore(e.b.CreateFPTrunc(total, held->getType()), slot.memory.value);
}

/// Sums that the statements of a block feed, and loops in it that are so short that they may be written out. Each
/// thread has its own.
void find_fed(const loops::Kernel& kernel, const loops::Block& block, std::vector<int>& found) {
  for (const loops::Statement& statement : block) {
    if (const auto* const loop = std::get_if<loops::Loop>(&statement.what)) {
      const loops::Axis& axis = kernel.axes[static_cast<size_t>(loop->axis)];
      const auto known = axis.extent.constant();
      if (known && *known <= kWriteOut && axis.binding != loops::Binding::threads) find_fed(kernel, loop->body, found);
    }
    const auto* const fed = std::get_if<loops::Accumulate>(&statement.what);
    if (fed == nullptr) continue;
    const loops::Accumulator& accumulator = kernel.accumulators[static_cast<size_t>(fed->accumulator)];
    if (accumulator.op == ReduceOp::sum && compute_dtype(accumulator.dtype) == Dtype::f32 &&
        std::ranges::find(found, fed->accumulator) == found.end()) {
      found.push_back(fed->accumulator);
    }
  }
}

/// The loop in parts.
void parts_loop(Emission& e, const std::vector<int>& sums, llvm::Value* begin, llvm::Value* end, unsigned step,
                const std::function<void(llvm::Value*)>& body,
                const std::function<void(int sum, llvm::Value* first, llvm::Value* last)>& after_part) {
  const uint64_t part = uint64_t{step} * kPartOfSum;
  counted_loop(e, begin, end, static_cast<unsigned>(part), [&](llvm::Value* first) {
    llvm::Value* const next = e.b.CreateNSWAdd(first, e.b.getInt64(part));
    llvm::Value* const last = e.b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, next, end);
    counted_loop(e, first, last, step, body);
    for (const int each : sums) {
      const bool is_fed = !e.accumulators[static_cast<size_t>(each)].slots.empty();  // no: within a loop of no steps
      if (is_fed) after_part(each, first, last);
    }
  });
}

/// The sums began with the loop. One of few steps is left as it is, in code of its own: what moves takes registers.
void own_sums_loop(Emission& e, const std::vector<int>& sums, llvm::Value* begin, llvm::Value* end, unsigned step,
                   const std::function<void(llvm::Value*)>& body) {
  llvm::Value* const steps = e.b.CreateNSWSub(end, begin);
  llvm::Value* const is_long = e.b.CreateICmpSGT(steps, e.b.getInt64(uint64_t{step} * 2 * kPartOfSum));
  llvm::BasicBlock* const in_parts = e.block("in_parts");
  llvm::BasicBlock* const at_once = e.block("at_once");
  llvm::BasicBlock* const after = e.block("summed");
  e.b.CreateCondBr(is_long, in_parts, at_once);
  e.b.SetInsertPoint(at_once);
  counted_loop(e, begin, end, step, body);
  e.b.CreateBr(after);
  e.b.SetInsertPoint(in_parts);
  std::vector<std::pair<int, llvm::Value*>> moved;  // sums, and where they go
  parts_loop(e, sums, begin, end, step, body, [&](int each, llvm::Value* first, llvm::Value*) {
    moved.emplace_back(each, wide_slot(e, each));
    move_part(e, each, moved.back().second, e.b.CreateICmpEQ(first, begin));
  });
  for (const auto& [each, wide] : moved)
    move_back(e, each, wide);
  e.b.CreateBr(after);
  e.b.SetInsertPoint(after);
}

}  // namespace

llvm::Value* read_with_moved(Emission& e, const OpenAccumulator::Slot& slot) {
  llvm::Value* const held = held_in(e, slot);
  llvm::Value* const wide = e.b.CreateFPExt(held, wide_type(held->getType()));
  return slot.moved == nullptr ? wide : e.b.CreateFAdd(e.b.CreateLoad(wide->getType(), slot.moved), wide);
}

std::vector<double> enter_loop(Emission& e, double most_steps) {
  std::vector<double> entered;
  for (OpenAccumulator& open : e.accumulators) {
    entered.push_back(open.steps);
    if (open.is_open) open.steps *= most_steps;
  }
  return entered;
}

void leave_loop(Emission& e, const std::vector<double>& entered) {
  for (size_t i = 0; i < entered.size(); ++i)
    e.accumulators[i].steps = entered[i];
}

std::vector<int> long_sums(const Emission& e, const loops::Loop& loop) {
  std::vector<int> sums;
  find_fed(e.kernel, loop.body, sums);
  std::erase_if(sums, [&](int each) { return e.accumulators[static_cast<size_t>(each)].steps <= kLongestSum; });
  return sums;
}

void summing_loop(Emission& e, const std::vector<int>& sums, llvm::Value* begin, llvm::Value* end, unsigned step,
                  const std::vector<int>& begun, const std::function<void(llvm::Value*)>& body) {
  if (sums.empty()) return counted_loop(e, begin, end, step, body);
  const auto is_own = [&](int each) { return std::ranges::find(begun, each) != begun.end(); };
  if (std::ranges::all_of(sums, is_own)) return own_sums_loop(e, sums, begin, end, step, body);
  // Sums go on in the next iteration of a loop around this one: what counts is how often they were fed.
  parts_loop(e, sums, begin, end, step, body, [&](int each, llvm::Value* first, llvm::Value* last) {
    OpenAccumulator& open = e.accumulators[static_cast<size_t>(each)];
    llvm::Value* const counter = zero_slot(e, open, e.i64());
    llvm::Value* const elements = e.b.CreateNSWSub(last, first);
    llvm::Value* const steps = e.b.CreateUDiv(e.b.CreateNSWAdd(elements, e.b.getInt64(step - 1)), e.b.getInt64(step));
    llvm::Value* const count = e.b.CreateAdd(e.b.CreateLoad(e.i64(), counter), steps);
    e.b.CreateStore(count, counter);
    when(e, e.b.CreateICmpSGE(count, e.b.getInt64(kPartOfSum)), [&] {
      move_out(e, each);
      e.b.CreateStore(e.b.getInt64(0), counter);
    });
  });
}

}  // namespace tenon::codegen
