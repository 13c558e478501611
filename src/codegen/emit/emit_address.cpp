// Where elements lie in memory.
#include <llvm/IR/Constants.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/MDBuilder.h>

#include <algorithm>
#include <array>
#include <utility>

#include "codegen/emit/llvm_address.h"
#include "codegen/emit/vector_plan.h"
#include "codegen/math/llvm_scalar.h"

namespace tenon::codegen {

namespace {

/// The number, which LLVM does not add to anything in front of a loop.
llvm::Value* added_late(Emission& e, llvm::Value* number) {
  auto* const type = llvm::FunctionType::get(e.i64(), {e.i64()}, false);
  llvm::InlineAsm* const move = llvm::InlineAsm::get(type, "mov.b64 $0, $1;", "=l,l", /*hasSideEffects=*/true);
  llvm::CallInst* const call = e.b.CreateCall(move, {number});
  call->setMemoryEffects(llvm::MemoryEffects::inaccessibleMemOnly());
  call->setDoesNotThrow();
  return call;
}

/// The address of an affine position. The innermost axis comes last and alone, so that all accesses of a loop share it
/// as an index register. On GPUs, where threads keep sums in registers, there are few left for addresses: those that
/// differ in a size alone share all else, and the size is added to it at each access.
llvm::Value* element_pointer(Emission& e, int buffer, const loops::Affine& at) {
  llvm::Type* const element = memory_type(e.context(), e.buffer(buffer).dtype, 0);
  llvm::Value* pointer = scratch_of_thread(e, buffer, buffer_pointer(e, buffer));
  loops::Affine outer = at;
  loops::Affine inner;
  const bool adds_late = e.gpu != nullptr && std::ranges::any_of(e.kernel.buffers, loops::is_private_scratch);
  if (at.base.is_constant() || adds_late) std::swap(inner.base, outer.base);
  const auto deepest = std::ranges::max_element(
      outer.terms, {}, [&](const loops::Term& term) { return e.depths[static_cast<size_t>(term.axis)]; });
  if (deepest != outer.terms.end()) {
    inner.terms.push_back(*deepest);
    outer.terms.erase(deepest);
  }
  if (!outer.terms.empty() || outer.base != Extent(0)) {
    pointer = e.in_head_of(outer.terms, [&] { return e.b.CreateGEP(element, pointer, first_lane(e, outer)); });
  }
  const Extent constant = std::exchange(inner.base, Extent(0));
  if (!inner.terms.empty()) pointer = e.b.CreateGEP(element, pointer, first_lane(e, inner));
  if (constant == Extent(0)) return pointer;
  llvm::Value* const base = extent(e, constant);
  return e.b.CreateGEP(element, pointer, constant.is_constant() ? base : added_late(e, base));
}

}  // namespace

llvm::Value* buffer_pointer(Emission& e, int index) {
  llvm::Value*& pointer = e.buffers[static_cast<size_t>(index)];
  if (pointer != nullptr) return pointer;
  if (e.gpu != nullptr && e.buffer(index).role != loops::Role::scratch) {
    return pointer = e.gpu->buffers[static_cast<size_t>(index)];
  }
  if (e.gpu != nullptr && is_private_scratch(e.buffer(index))) {  // which LLVM keeps in registers
    const auto elements = e.buffer(index).elements.constant();
    TENON_CHECK(elements.has_value(), "{}: scratch of threads whose size is not known", e.kernel.name);
    llvm::Type* const element = memory_type(e.context(), e.buffer(index).dtype, 0);
    auto* const array = llvm::ArrayType::get(element, static_cast<uint64_t>(*elements));
    return pointer = e.in_block(e.allocas, [&] { return e.b.CreateAlloca(array); });
  }
  pointer = e.in_block(e.entry, [&]() -> llvm::Value* {
    if (e.buffer(index).role != loops::Role::scratch) {
      llvm::LoadInst* const table = e.b.CreateLoad(e.b.getPtrTy(), e.args);  // KernelArgs::buffers
      llvm::LoadInst* const load =
          e.b.CreateLoad(e.b.getPtrTy(), e.b.CreateConstGEP1_64(e.b.getPtrTy(), table, static_cast<uint64_t>(index)));
      for (llvm::LoadInst* each : {table, load}) {
        each->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(e.context(), {}));
      }
      return load;
    }
    llvm::Value* offset = e.b.getInt64(0);
    for (int i = 0; i < index; ++i) {
      if (e.buffer(i).role != loops::Role::scratch || (e.gpu != nullptr && is_private_scratch(e.buffer(i)))) continue;
      const int64_t copies = is_private_scratch(e.buffer(i)) ? e.most_threads : 1;
      const uint64_t element_bytes = static_cast<uint64_t>(copies) * byte_size(e.buffer(i).dtype);
      llvm::Value* const bytes = e.b.CreateNSWMul(extent(e, e.buffer(i).elements), e.b.getInt64(element_bytes));
      llvm::Value* const rounded = e.b.CreateAnd(e.b.CreateNSWAdd(bytes, e.b.getInt64(63)), ~uint64_t{63});
      offset = e.b.CreateNSWAdd(offset, rounded);
    }
    return e.b.CreateGEP(e.b.getInt8Ty(), e.scratch, offset);
  });
  return pointer;
}

Address address_of(Emission& e, int buffer, const loops::Affine& at) {
  return {.first = element_pointer(e, buffer, at),
          .stride = e.vector.lanes == 0 ? Extent(0) : scale_of(at, e.vector.axis)};
}

void Lookups::move(Address& address, const loops::Load& what) {
  llvm::Type* const element = memory_type(e_.context(), e_.buffer(what.buffer).dtype, 0);
  for (const loops::Lookup& lookup : what.lookups) {
    llvm::Value* const offset = checked_offset(lookup);
    if (is_vector(offset)) {
      address.offset = address.offset == nullptr ? offset : e_.b.CreateNSWAdd(address.offset, offset);
    } else {
      address.first = e_.b.CreateGEP(element, address.first, offset);
    }
  }
  if (address.offset != nullptr && address.stride != Extent(0)) {
    llvm::Value* const along = e_.b.CreateNSWMul(spread(e_, extent(e_, address.stride)), lane_numbers(e_, 64));
    address.offset = e_.b.CreateNSWAdd(address.offset, along);
  }
}

llvm::Value* Lookups::checked_offset(const loops::Lookup& lookup) {
  llvm::Value* const value = e_.values[static_cast<size_t>(lookup.value)];
  const auto like_value = [&](llvm::Value* scalar) { return is_vector(value) ? spread(e_, scalar) : scalar; };
  llvm::Value* bad = e_.b.CreateICmpUGE(value, like_value(extent(e_, lookup.size)));
  if (mask_ != nullptr) bad = e_.b.CreateAnd(bad, is_vector(value) ? mask_ : e_.b.CreateOrReduce(mask_));
  check(lookup, bad, value);
  return e_.b.CreateNSWMul(value, like_value(extent(e_, lookup.stride)));
}

void Lookups::check(const loops::Lookup& lookup, llvm::Value* bad, llvm::Value* value) {
  llvm::BasicBlock* const cold = failed_.emplace_back(e_.block("out_of_range"));
  llvm::BasicBlock* const next = e_.block("in_range");
  llvm::Value* const any = is_vector(bad) ? e_.b.CreateOrReduce(bad) : bad;
  e_.b.CreateCondBr(any, cold, next, llvm::MDBuilder(e_.context()).createBranchWeights(1, 1 << 20));
  e_.b.SetInsertPoint(cold);
  if (is_vector(bad)) {
    llvm::Value* const bits = e_.b.CreateBitCast(bad, e_.b.getIntNTy(e_.vector.lanes));
    llvm::Value* const lane = e_.b.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, bits, e_.b.getTrue());
    value = e_.b.CreateExtractElement(value, e_.b.CreateZExtOrTrunc(lane, e_.i64()));
  }
  if (e_.gpu != nullptr) {
    gpu_report(e_, e_.b.getInt64(static_cast<uint64_t>(lookup.site) + 1), value, extent(e_, lookup.size));
    e_.b.CreateBr(end_);
    failed_.back() = e_.b.GetInsertBlock();
    e_.b.SetInsertPoint(next);
    return;
  }
  llvm::Value* const field = e_.b.CreateConstGEP1_64(e_.b.getPtrTy(), e_.args, 2);  // KernelArgs::status
  llvm::Value* const status = e_.b.CreateLoad(e_.b.getPtrTy(), field);
  const std::array<llvm::Value*, 3> fields{e_.b.getInt64(static_cast<uint64_t>(lookup.site) + 1), value,
                                           extent(e_, lookup.size)};
  for (unsigned i = 0; i < fields.size(); ++i) {
    e_.b.CreateAlignedStore(fields[i], e_.b.CreateConstGEP1_64(e_.i64(), status, i), llvm::Align(8));
  }
  e_.b.CreateBr(end_);
  e_.b.SetInsertPoint(next);
}

llvm::Value* Lookups::result(llvm::Value* loaded) {
  llvm::BasicBlock* const good = e_.b.GetInsertBlock();
  e_.b.CreateBr(end_);
  e_.b.SetInsertPoint(end_);
  llvm::PHINode* const phi = e_.b.CreatePHI(loaded->getType(), static_cast<unsigned>(failed_.size()) + 1);
  phi->addIncoming(loaded, good);
  for (llvm::BasicBlock* each : failed_)
    phi->addIncoming(llvm::Constant::getNullValue(loaded->getType()), each);
  return phi;
}

}  // namespace tenon::codegen
