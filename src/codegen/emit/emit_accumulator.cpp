// Accumulators: where they are kept, how two combine, and how lanes become one.
#include <llvm/IR/Constants.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

#include "codegen/emit/llvm_emission.h"
#include "codegen/math/llvm_scalar.h"

namespace tenon::codegen {

namespace {

const loops::Accumulator& what_is(const Emission& e, int accumulator) {
  return e.kernel.accumulators[static_cast<size_t>(accumulator)];
}

bool seeks_largest(ReduceOp op) { return op == ReduceOp::max || op == ReduceOp::argmax; }

llvm::Constant* identity(Emission& e, const loops::Accumulator& accumulator, unsigned lanes) {
  llvm::Type* const type = register_type(e.context(), accumulator.dtype, lanes);
  const unsigned bits = type->getScalarSizeInBits();
  switch (accumulator.op) {
    case ReduceOp::sum:
    case ReduceOp::any: return llvm::Constant::getNullValue(type);
    case ReduceOp::all: return llvm::Constant::getAllOnesValue(type);
    case ReduceOp::product:
      return type->isFPOrFPVectorTy() ? llvm::ConstantFP::get(type, 1) : llvm::ConstantInt::get(type, 1);
    default: break;
  }
  const bool largest = seeks_largest(accumulator.op);
  if (type->isFPOrFPVectorTy()) return llvm::ConstantFP::getInfinity(type, largest);
  if (is_signed_integer(accumulator.dtype)) {
    return llvm::ConstantInt::get(
        type, largest ? llvm::APInt::getSignedMinValue(bits) : llvm::APInt::getSignedMaxValue(bits));
  }
  return largest ? llvm::Constant::getNullValue(type) : llvm::Constant::getAllOnesValue(type);
}

/// The larger or the smaller of two numbers, of which `held` is no NaN; one instruction, that keeps it where `next` is.
llvm::Value* extreme_number(Emission& e, bool largest, llvm::Value* held, llvm::Value* next) {
  if (e.target.triple.starts_with("aarch64")) {
    return e.b.CreateBinaryIntrinsic(largest ? llvm::Intrinsic::maxnum : llvm::Intrinsic::minnum, held, next);
  }
  return e.b.CreateSelect(largest ? e.b.CreateFCmpOGT(next, held) : e.b.CreateFCmpOLT(next, held), next, held);
}

/// The larger or the smaller of two numbers; a NaN wins, and of two zeros either may.
llvm::Value* extreme(Emission& e, const loops::Accumulator& accumulator, llvm::Value* held, llvm::Value* next) {
  const bool largest = seeks_largest(accumulator.op);
  if (held->getType()->isFPOrFPVectorTy()) {
    if (accumulator.may_skip_nan) return extreme_number(e, largest, held, next);
    if (e.target.triple.starts_with("aarch64")) {
      return e.b.CreateBinaryIntrinsic(largest ? llvm::Intrinsic::maximum : llvm::Intrinsic::minimum, held, next);
    }
    // One instruction keeps what is held when the two are unordered; a second one lets a new NaN in. The freeze keeps
    // LLVM from joining the conditions, which makes the chain from step to step longer.
    llvm::Value* const beyond = largest ? e.b.CreateFCmpOGT(next, held) : e.b.CreateFCmpOLT(next, held);
    llvm::Value* const further = e.b.CreateFreeze(e.b.CreateSelect(beyond, next, held));
    return e.b.CreateSelect(e.b.CreateFCmpUNO(next, next), next, further);
  }
  const bool is_signed = is_signed_integer(accumulator.dtype);
  return e.b.CreateBinaryIntrinsic(largest ? (is_signed ? llvm::Intrinsic::smax : llvm::Intrinsic::umax)
                                           : (is_signed ? llvm::Intrinsic::smin : llvm::Intrinsic::umin),
                                   held, next);
}

/// The more extreme of two pairs; of equals, and of two NaNs, the one that comes first.
Partial first_extreme(Emission& e, const loops::Accumulator& accumulator, const Partial& held, const Partial& next) {
  const bool largest = seeks_largest(accumulator.op);
  llvm::Value* beyond = nullptr;
  llvm::Value* equal = nullptr;
  if (held.value->getType()->isFPOrFPVectorTy()) {
    llvm::Value* const held_nan = e.b.CreateFCmpUNO(held.value, held.value);
    llvm::Value* const next_nan = e.b.CreateFCmpUNO(next.value, next.value);
    llvm::Value* const ordered =
        largest ? e.b.CreateFCmpOGT(next.value, held.value) : e.b.CreateFCmpOLT(next.value, held.value);
    beyond = e.b.CreateOr(ordered, e.b.CreateAnd(next_nan, e.b.CreateNot(held_nan)));
    equal = e.b.CreateOr(e.b.CreateFCmpOEQ(next.value, held.value), e.b.CreateAnd(next_nan, held_nan));
  } else {
    const bool is_signed = is_signed_integer(accumulator.dtype);
    const auto order = largest ? (is_signed ? llvm::CmpInst::ICMP_SGT : llvm::CmpInst::ICMP_UGT)
                               : (is_signed ? llvm::CmpInst::ICMP_SLT : llvm::CmpInst::ICMP_ULT);
    beyond = e.b.CreateICmp(order, next.value, held.value);
    equal = e.b.CreateICmpEQ(next.value, held.value);
  }
  llvm::Value* const earlier = e.b.CreateICmpSLT(next.position, held.position);
  llvm::Value* const take = e.b.CreateOr(beyond, e.b.CreateAnd(equal, earlier));
  return {e.b.CreateSelect(take, next.value, held.value), e.b.CreateSelect(take, next.position, held.position)};
}

Partial combine(Emission& e, const loops::Accumulator& accumulator, const Partial& held, const Partial& next) {
  const bool floats = held.value->getType()->isFPOrFPVectorTy();
  switch (accumulator.op) {
    case ReduceOp::sum:
      return {floats ? e.b.CreateFAdd(held.value, next.value) : e.b.CreateAdd(held.value, next.value)};
    case ReduceOp::product:
      return {floats ? e.b.CreateFMul(held.value, next.value) : e.b.CreateMul(held.value, next.value)};
    case ReduceOp::max:
    case ReduceOp::min: return {extreme(e, accumulator, held.value, next.value)};
    case ReduceOp::any: return {e.b.CreateOr(held.value, next.value)};
    case ReduceOp::all: return {e.b.CreateAnd(held.value, next.value)};
    case ReduceOp::argmax:
    case ReduceOp::argmin: return first_extreme(e, accumulator, held, next);
  }
  TENON_CHECK(false, "no such reduction");
}

Partial identities(Emission& e, const loops::Accumulator& accumulator, unsigned lanes) {
  Partial none{identity(e, accumulator, lanes)};
  if (is_arg(accumulator.op)) {
    none.position = llvm::ConstantInt::get(register_type(e.context(), Dtype::i64, lanes),
                                           static_cast<uint64_t>(std::numeric_limits<int64_t>::max()));
  }
  return none;
}

void write(Emission& e, const OpenAccumulator::Slot& slot, const Partial& partial) {
  e.b.CreateStore(partial.value, slot.memory.value);
  if (partial.position != nullptr) e.b.CreateStore(partial.position, slot.memory.position);
}

Partial read(Emission& e, const OpenAccumulator::Slot& slot) {
  const auto load = [&](llvm::Value* memory) -> llvm::Value* {
    return memory == nullptr ? nullptr
                             : e.b.CreateLoad(llvm::cast<llvm::AllocaInst>(memory)->getAllocatedType(), memory);
  };
  return {load(slot.memory.value), load(slot.memory.position)};
}

OpenAccumulator::Slot& slot_for(Emission& e, int index, unsigned lanes) {
  OpenAccumulator& open = e.accumulators[static_cast<size_t>(index)];
  const auto found = std::ranges::find(open.slots, lanes, &OpenAccumulator::Slot::lanes);
  if (found != open.slots.end()) return *found;
  const loops::Accumulator& accumulator = what_is(e, index);
  const Partial none = identities(e, accumulator, lanes);
  OpenAccumulator::Slot slot{.lanes = lanes, .memory = {}};
  const auto reserve = [&](llvm::Value* like) {
    return e.in_block(e.allocas, [&] { return e.b.CreateAlloca(like->getType()); });
  };
  slot.memory.value = reserve(none.value);
  if (none.position != nullptr) slot.memory.position = reserve(none.position);
  e.in_block(open.begin, [&]() -> llvm::Value* {
    write(e, slot, none);
    return nullptr;
  });
  return open.slots.emplace_back(slot);
}

/// The lower half of the lanes combined with the upper half.
Partial halve(Emission& e, const loops::Accumulator& accumulator, const Partial& partial, unsigned lanes) {
  std::vector<int> lower(lanes / 2);
  std::iota(lower.begin(), lower.end(), 0);
  std::vector<int> upper(lanes / 2);
  std::iota(upper.begin(), upper.end(), static_cast<int>(lanes / 2));
  const auto half = [&](llvm::Value* value, const std::vector<int>& which) -> llvm::Value* {
    return value == nullptr ? nullptr : e.b.CreateShuffleVector(value, which);
  };
  return combine(e, accumulator, {half(partial.value, lower), half(partial.position, lower)},
                 {half(partial.value, upper), half(partial.position, upper)});
}

/// The largest or smallest float of all lanes: whether one is NaN is asked once, beside the steps from half to half and
/// not within each.
llvm::Value* extreme_lane(Emission& e, const loops::Accumulator& accumulator, llvm::Value* lanes) {
  llvm::Value* any_nan = e.b.getFalse();
  if (!accumulator.may_skip_nan) any_nan = e.b.CreateOrReduce(e.b.CreateFCmpUNO(lanes, lanes));
  const llvm::IRBuilderBase::FastMathFlagGuard restore(e.b);
  llvm::FastMathFlags ordered;
  ordered.setNoNaNs();
  e.b.setFastMathFlags(ordered);
  llvm::Value* const extreme =
      accumulator.op == ReduceOp::max ? e.b.CreateFPMaxReduce(lanes) : e.b.CreateFPMinReduce(lanes);
  e.b.clearFastMathFlags();
  return e.b.CreateSelect(any_nan, llvm::ConstantFP::getNaN(extreme->getType()), extreme);
}

/// Lanes in the order in which halving combines neighbours first.
Partial neighbours_apart(Emission& e, const Partial& partial, unsigned lanes) {
  std::vector<int> order{0};
  while (order.size() < lanes) {
    const size_t known = order.size();
    for (size_t i = 0; i < known; ++i)
      order.push_back(order[i] + static_cast<int>(lanes / (2 * known)));
  }
  const auto reordered = [&](llvm::Value* value) -> llvm::Value* {
    return value == nullptr ? nullptr : e.b.CreateShuffleVector(value, order);
  };
  return {reordered(partial.value), reordered(partial.position)};
}

/// All slots as one scalar: widest first, each folded to the width of the next. `read` gives what is in one.
Partial fold(Emission& e, int index, const std::function<Partial(const OpenAccumulator::Slot&)>& read) {
  const loops::Accumulator& accumulator = what_is(e, index);
  std::vector<OpenAccumulator::Slot> slots = e.accumulators[static_cast<size_t>(index)].slots;
  if (slots.empty()) return identities(e, accumulator, 0);
  std::ranges::sort(slots, std::ranges::greater{}, &OpenAccumulator::Slot::lanes);
  Partial total = read(slots[0]);
  unsigned lanes = slots[0].lanes;
  if (e.gpu != nullptr && lanes > 1) total = neighbours_apart(e, total, lanes);
  const bool is_extreme = accumulator.op == ReduceOp::max || accumulator.op == ReduceOp::min;
  const auto narrow_to = [&](unsigned wanted) {
    if (wanted == 0 && lanes > 1 && is_extreme && total.value->getType()->isFPOrFPVectorTy()) {
      total.value = extreme_lane(e, accumulator, total.value);
      lanes = 0;
    }
    for (; lanes > std::max(wanted, 1u); lanes /= 2)
      total = halve(e, accumulator, total, lanes);
    if (wanted == 0 && lanes == 1) {
      total.value = e.b.CreateExtractElement(total.value, uint64_t{0});
      if (total.position != nullptr) total.position = e.b.CreateExtractElement(total.position, uint64_t{0});
      lanes = 0;
    }
  };
  for (size_t i = 1; i < slots.size(); ++i) {
    narrow_to(slots[i].lanes);
    total = combine(e, accumulator, total, read(slots[i]));
  }
  narrow_to(0);
  return total;
}

/// What is held plus the product of the two operands of `product`, rounded once.
llvm::Value* add_product(Emission& e, const loops::Value& product, llvm::Value* held) {
  const auto& compute = std::get<loops::Compute>(product.what);
  std::vector<llvm::Value*> operands;
  for (const int operand : compute.operands) {
    llvm::Value* const value = e.values[static_cast<size_t>(operand)];
    operands.push_back(is_vector(held) ? spread(e, value) : value);
  }
  return e.b.CreateIntrinsic(llvm::Intrinsic::fma, {held->getType()}, {operands[0], operands[1], held});
}

}  // namespace

Partial identity_of(Emission& e, int accumulator) { return identities(e, what_is(e, accumulator), 0); }

Partial combine(Emission& e, int accumulator, const Partial& held, const Partial& next) {
  return combine(e, what_is(e, accumulator), held, next);
}

void begin_accumulators(Emission& e, const std::vector<int>& begins) {
  if (begins.empty()) return;
  llvm::BasicBlock* const begin = e.block("begin");
  e.b.CreateBr(begin);
  e.b.SetInsertPoint(begin);
  llvm::BasicBlock* const next = e.block("reduce");
  e.b.CreateBr(next);
  e.b.SetInsertPoint(next);
  for (const int each : begins) {
    e.accumulators[static_cast<size_t>(each)] = {.begin = begin, .lanes = e.vector.lanes, .slots = {}, .is_open = true};
  }
}

void accumulate(Emission& e, int index) {
  const loops::Accumulator& accumulator = what_is(e, index);
  OpenAccumulator& open = e.accumulators[static_cast<size_t>(index)];
  const auto input = static_cast<size_t>(accumulator.input);
  const bool fused = e.fused[input];
  const auto varies = [&](int value) { return is_vector(e.values[static_cast<size_t>(value)]); };
  bool lanes_differ = open.lanes != e.vector.lanes;  // every lane is an element of its own
  const bool across = lanes_differ;
  if (fused) {
    lanes_differ |= std::ranges::any_of(std::get<loops::Compute>(e.kernel.values[input].what).operands, varies);
  } else {
    lanes_differ |= varies(accumulator.input);
  }
  lanes_differ |= accumulator.position >= 0 && varies(accumulator.position);

  const OpenAccumulator::Slot& slot = slot_for(e, index, lanes_differ ? e.vector.lanes : 0);
  open.last_slot = static_cast<size_t>(&slot - open.slots.data());
  const Partial held = read(e, slot);
  Partial sum;
  if (fused) {
    sum.value = add_product(e, e.kernel.values[input], held.value);
  } else {
    const auto operand = [&](int value) { return e.values[static_cast<size_t>(value)]; };
    Partial next{operand(accumulator.input), accumulator.position < 0 ? nullptr : operand(accumulator.position)};
    if (slot.lanes != 0) {
      next.value = spread(e, next.value);
      if (next.position != nullptr) next.position = spread(e, next.position);
    }
    sum = combine(e, accumulator, held, next);
  }
  if (across && e.vector.mask != nullptr) {
    sum.value = e.b.CreateSelect(e.vector.mask, sum.value, held.value);
    if (sum.position != nullptr) sum.position = e.b.CreateSelect(e.vector.mask, sum.position, held.position);
  }
  write(e, slot, sum);
}

Partial end_accumulator(Emission& e, int accumulator) {
  OpenAccumulator& open = e.accumulators[static_cast<size_t>(accumulator)];
  open.is_open = false;
  const bool by_lane = open.lanes != 0 && !open.slots.empty();
  const auto whole = [&](const std::function<Partial(const OpenAccumulator::Slot&)>& read_slot) {
    return by_lane ? read_slot(open.slots[0]) : fold(e, accumulator, read_slot);
  };
  Partial total = whole([&](const OpenAccumulator::Slot& slot) { return read(e, slot); });
  if (open.has_moved != nullptr) {
    const auto with_moved = [&](const OpenAccumulator::Slot& slot) { return Partial{read_with_moved(e, slot)}; };
    total.value = when(
        e, e.b.CreateLoad(e.b.getInt1Ty(), open.has_moved),
        [&] { return e.b.CreateFPTrunc(whole(with_moved).value, total.value->getType()); }, total.value);
  }
  return total;
}

void end_accumulators(Emission& e, const std::vector<int>& begins) {
  for (const int each : begins) {
    const bool is_whole = e.parts[static_cast<size_t>(each)].count == 0;
    const Partial total = is_whole ? end_accumulator(e, each) : end_parts(e, each);
    for (size_t i = 0; i < e.kernel.values.size(); ++i) {
      const auto* const result = std::get_if<loops::Result>(&e.kernel.values[i].what);
      if (result != nullptr && result->accumulator == each) {
        e.values[i] = is_arg(what_is(e, each).op) ? total.position : total.value;
        e.in_vector_loop[i] = e.vector.lanes != 0;
      }
    }
  }
}

}  // namespace tenon::codegen
