// Statements and loops: scalar ones, small ones written out, and those that run in lanes.
#include <algorithm>
#include <limits>

#include "codegen/emit/llvm_emission.h"
#include "codegen/emit/vector_plan.h"
#include "codegen/math/llvm_math.h"
#include "codegen/math/llvm_scalar.h"

namespace tenon::codegen {

namespace {

constexpr int kWriteOutCost = 32;

/// Whether multiplications divide lanes by one number faster than the machine's division. That takes longer the wider
/// vectors are, and they do not: on Neoverse N1 they took twice as long as a division of four lanes.
bool divides_by_multiplying(const Target& target) { return target.fma && target.vector_bits > 128; }

/// Lanes by one number. What is found out about the number is found out once, if it was there before the loop.
llvm::Value* divide_by_one(Emission& e, llvm::Value* lanes, int divisor) {
  const EmitContext& context = e.scalar_context;
  const Lanes number{&context, e.values[static_cast<size_t>(divisor)]};
  OneDivisor prepared;
  const auto prepare = [&] {
    prepared = prepare_divisor_f32(number);
    return number.value;
  };
  e.in_vector_loop[static_cast<size_t>(divisor)] ? prepare() : e.in_block(e.vector.before, prepare);
  return div_by_one_f32({&context, lanes}, prepared).value;
}

/// A number less the largest of its row, which is at most 0, or NaN.
bool is_less_its_largest(const loops::Kernel& kernel, int value) {
  const auto what = [&](int each) -> const loops::Value& { return kernel.values[static_cast<size_t>(each)]; };
  const auto* difference = std::get_if<loops::Compute>(&what(value).what);
  if (difference == nullptr || difference->prim != Prim::sub) return false;
  const auto* largest = std::get_if<loops::Result>(&what(difference->operands[1]).what);
  if (largest == nullptr) return false;
  const loops::Accumulator& accumulator = kernel.accumulators[static_cast<size_t>(largest->accumulator)];
  return accumulator.op == ReduceOp::max && accumulator.input == difference->operands[0];
}

llvm::Value* compute(Emission& e, const loops::Value& value) {
  const auto& what = std::get<loops::Compute>(value.what);
  if (what.prim == Prim::constant) return emit_constant(e.context(), value.dtype, what.literal, 0);
  const auto operand = [&](size_t i) { return e.values[static_cast<size_t>(what.operands[i])]; };
  if ((what.prim == Prim::lt || what.prim == Prim::le) && (is_vector(operand(0)) || is_vector(operand(1)))) {
    const auto affine = [&](size_t i) {
      return std::get_if<loops::Position>(&e.kernel.values[static_cast<size_t>(what.operands[i])].what);
    };
    if (affine(0) != nullptr && affine(1) != nullptr) {
      llvm::Value* const mask = compare_positions(e, what.prim, affine(0)->at, affine(1)->at);
      if (mask != nullptr) return mask;
    }
  }
  if (what.prim == Prim::div && compute_dtype(what.operand_dtype) == Dtype::f32 && divides_by_multiplying(e.target) &&
      is_vector(operand(0)) && !is_vector(operand(1))) {
    return divide_by_one(e, operand(0), what.operands[1]);
  }
  if (what.prim == Prim::exp_normal && value.dtype == Dtype::f32 && is_vector(operand(0)) &&
      is_less_its_largest(e.kernel, what.operands[0])) {
    return exp_normal_below_0_f32({&e.scalar_context, operand(0)}).value;
  }
  std::vector<llvm::Value*> operands;
  bool lanes = false;
  for (size_t i = 0; i < what.operands.size(); ++i) {
    operands.push_back(operand(i));
    lanes |= is_vector(operands.back());
  }
  if (lanes) {
    for (llvm::Value*& each : operands)
      each = spread(e, each);
  }
  const ScalarInstruction instruction{.prim = what.prim, .dtype = value.dtype, .operand_dtype = what.operand_dtype};
  return emit_prim(e.scalar_context, instruction, operands);
}

void define(Emission& e, int index) {
  if (e.fused[static_cast<size_t>(index)]) return;
  const loops::Value& value = e.kernel.values[static_cast<size_t>(index)];
  llvm::Value*& result = e.values[static_cast<size_t>(index)];
  e.in_vector_loop[static_cast<size_t>(index)] = e.vector.lanes != 0;
  if (const auto* what = std::get_if<loops::Load>(&value.what)) {
    result = load(e, *what);
  } else if (const auto* at = std::get_if<loops::Position>(&value.what)) {
    result = position(e, at->at);
  } else {
    result = compute(e, value);
  }
}

/// At the top of a loop's body: the axis is at `position`.
void bind(Emission& e, int axis, llvm::Value* position) {
  e.axes[static_cast<size_t>(axis)] = position;
  e.heads[static_cast<size_t>(axis)] = {.block = e.b.GetInsertBlock()};
}

/// The vectorised loop over `count` elements in the widths of `plan`.
void run_widths(Emission& e, const loops::Loop& loop, const VectorPlan& plan, llvm::Value* count, bool unit_strides) {
  llvm::BasicBlock* const before = e.b.GetInsertBlock();
  llvm::BasicBlock* const begin = e.block("vectors");
  e.b.CreateBr(begin);
  e.b.SetInsertPoint(begin);
  llvm::Value* done = e.b.getInt64(0);
  const unsigned step = plan.lanes * plan.unroll;
  const std::vector<int> sums = long_sums(e, loop);
  std::vector<int> from_outside = sums;  // the others have few steps left behind the first loop
  std::erase_if(from_outside, [&](int each) { return std::ranges::find(loop.begins, each) != loop.begins.end(); });
  const auto run = [&](llvm::Value* end, unsigned lanes, bool masked, llvm::Value* nontemporal = nullptr) {
    summing_loop(e, lanes == step && !masked ? sums : from_outside, done, end, lanes, loop.begins,
                 [&](llvm::Value* first) {
                   bind(e, loop.axis, first);
                   e.vector = {.lanes = lanes,
                               .axis = loop.axis,
                               .mask = nullptr,
                               .unit_strides = unit_strides,
                               .nontemporal = nontemporal,
                               .before = before};
                   if (masked) e.vector.mask = lanes_below(e, e.b.CreateNSWSub(count, first));
                   if (const auto ahead = e.prefetches.find(&loop); ahead != e.prefetches.end() && !masked) {
                     for (const Prefetch& each : ahead->second)
                       prefetch(e, each);
                   }
                   emit_block(e, loop.body);
                   e.vector = {};
                 });
  };
  const auto multiple_of = [&](unsigned lanes) { return e.b.CreateAnd(count, ~(uint64_t{lanes} - 1)); };
  if (step > 1) {
    llvm::Value* const end = multiple_of(step);
    run(end, step, false, unit_strides || plan.run_time_strides.empty() ? is_nontemporal_loop(e, loop) : nullptr);
    done = end;
  }
  if (done == count) return;
  if (plan.masked_tail) return run(count, plan.lanes, true);
  if (plan.unroll > 1 && plan.lanes > 1) {
    llvm::Value* const end = multiple_of(plan.lanes);
    run(end, plan.lanes, false);
    done = end;
  }
  summing_loop(e, step > 1 ? from_outside : sums, done, count, 1, loop.begins, [&](llvm::Value* index) {
    bind(e, loop.axis, index);
    emit_block(e, loop.body);
  });
}

void vector_loop(Emission& e, const loops::Loop& loop, llvm::Value* count) {
  const auto ahead = e.prefetches.find(&loop);
  const bool fetches_parts = ahead != e.prefetches.end() &&
                             std::ranges::any_of(ahead->second, [](const Prefetch& each) { return each.parts > 1; });
  VectorPlan plan = plan_vector_loop(e.kernel, loop, e.target, fetches_parts);
  if (plan.run_time_strides.empty()) return run_widths(e, loop, plan, count, false);
  llvm::Value* contiguous = nullptr;
  for (const Extent& stride : plan.run_time_strides) {
    contiguous = both(e, contiguous, e.b.CreateICmpEQ(extent(e, stride), e.b.getInt64(1)));
  }
  llvm::BasicBlock* const fast = e.block("contiguous");
  llvm::BasicBlock* const slow = e.block("strided");
  llvm::BasicBlock* const next = e.block("vectors_done");
  e.b.CreateCondBr(contiguous, fast, slow);
  e.b.SetInsertPoint(fast);
  run_widths(e, loop, plan, count, true);
  e.b.CreateBr(next);
  e.b.SetInsertPoint(slow);
  plan.unroll = 1;
  run_widths(e, loop, plan, count, false);
  e.b.CreateBr(next);
  e.b.SetInsertPoint(next);
}

void emit_iteration(Emission& e, const loops::Loop& loop) {
  const bool is_thread = e.axis(loop.axis).binding == loops::Binding::threads;
  is_thread ? emit_thread(e, loop) : emit_block(e, loop.body);
}

void run_loop(Emission& e, const loops::Loop& loop) {
  const loops::Axis& axis = e.axis(loop.axis);
  begin_accumulators(e, begin_parts(e, loop));
  if (e.gpu != nullptr && axis.binding == loops::Binding::threads) {
    gpu_thread_loop(e, loop);
    return end_accumulators(e, loop.begins);
  }
  llvm::Value* const count = trip_count(e, axis);
  const int64_t known = axis.tile_of < 0 ? axis.extent.constant().value_or(-1) : -1;  // -1: not known
  const std::vector<double> entered =
      enter_loop(e, static_cast<double>(axis.extent.constant().value_or(std::numeric_limits<int64_t>::max())));
  int& depth = e.depths[static_cast<size_t>(loop.axis)];
  depth = 1 + *std::ranges::max_element(e.depths);
  llvm::Value*& index = e.axes[static_cast<size_t>(loop.axis)];
  if (axis.binding == loops::Binding::lanes && known != 1) {
    TENON_CHECK(e.vector.lanes == 0, "vectorised loops do not nest");
    vector_loop(e, loop, count);
  } else if (known >= 0 && known <= kWriteOut && known * block_cost(e.kernel, loop.body) <= kWriteOutCost) {
    for (int64_t i = 0; i < known; ++i) {
      index = e.b.getInt64(static_cast<uint64_t>(i));
      emit_iteration(e, loop);
    }
  } else if (axis.binding == loops::Binding::threads) {
    counted_loop(e, e.b.getInt64(0), count, 1, [&](llvm::Value* at) {
      bind(e, loop.axis, at);
      emit_thread(e, loop);
    });
  } else {
    summing_loop(e, long_sums(e, loop), e.b.getInt64(0), count, 1, loop.begins, [&](llvm::Value* at) {
      bind(e, loop.axis, at);
      emit_block(e, loop.body);
    });
  }
  index = nullptr;
  depth = 0;
  leave_loop(e, entered);
  end_accumulators(e, loop.begins);
}

/// The body, with the axis at a digit of what others are at: computed as far outside as they allow.
void emit_at_digit(Emission& e, const loops::Loop& loop) {
  const loops::Digit& digit = *loop.digit;
  const auto axis = static_cast<size_t>(loop.axis);
  const auto at_least_1 = [&](const Extent& size) -> llvm::Value* {
    llvm::Value* const known = extent(e, size);
    return size.is_constant() ? known : e.b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, known, e.b.getInt64(1));
  };
  e.axes[axis] = e.in_head_of(digit.of.terms, [&] {
    llvm::Value* at = first_lane(e, digit.of);
    if (digit.apart != Extent(1)) at = e.b.CreateUDiv(at, at_least_1(digit.apart));
    return digit.is_first ? at : e.b.CreateURem(at, at_least_1(e.axis(loop.axis).extent));
  });
  int made_at = 0;
  for (const loops::Term& term : digit.of.terms)
    made_at = std::max(made_at, e.made_at(term.axis));
  llvm::BasicBlock* const here = e.block("digit");
  e.b.CreateBr(here);
  e.b.SetInsertPoint(here);
  e.heads[axis] = {.block = here};
  e.depths[axis] = 1 + *std::ranges::max_element(e.depths);
  e.made_depths[loop.axis] = made_at;
  emit_block(e, loop.body);
  e.made_depths.erase(loop.axis);
  e.axes[axis] = nullptr;
  e.depths[axis] = 0;
}

void emit_loop(Emission& e, const loops::Loop& loop) {
  if (loop.digit) return emit_at_digit(e, loop);
  if (e.gpu != nullptr && gpu_matrix_step(e, loop)) return;
  if (loop.unless < 0) return run_loop(e, loop);
  when(e, e.b.CreateNot(e.values[static_cast<size_t>(loop.unless)]), [&] { run_loop(e, loop); });
}

}  // namespace

void emit_block(Emission& e, const loops::Block& block) {
  for (const loops::Statement& statement : block) {
    if (const auto* each = std::get_if<loops::Define>(&statement.what)) {
      define(e, each->value);
    } else if (const auto* written = std::get_if<loops::Store>(&statement.what)) {
      e.gpu == nullptr ? store(e, *written) : gpu_by_one_thread(e, [&] { store(e, *written); });
    } else if (const auto* fed = std::get_if<loops::Accumulate>(&statement.what)) {
      accumulate(e, fed->accumulator);
    } else if (const auto* product = std::get_if<loops::Product>(&statement.what)) {
      emit_product(e, *product);
    } else if (const auto* loop = std::get_if<loops::Loop>(&statement.what)) {
      emit_loop(e, *loop);
    } else if (e.gpu != nullptr) {  // on CPUs threads run one after the other, each from one barrier to the next
      gpu_barrier(e);
    }
  }
}

llvm::Value* trip_count(Emission& e, const loops::Axis& axis) {
  llvm::Value* const whole = extent(e, axis.extent);
  if (axis.tile_of < 0) return whole;
  TENON_CHECK(axis.tile_of != e.vector.axis || e.vector.lanes == 0, "the length of a tile depends on the lane");
  llvm::Value* const before = e.b.CreateNSWMul(e.axes[static_cast<size_t>(axis.tile_of)], whole);
  llvm::Value* const left = e.b.CreateNSWSub(extent(e, axis.total), before);
  return e.b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, whole, left);
}

void counted_loop(Emission& e, llvm::Value* begin, llvm::Value* end, unsigned step,
                  const std::function<void(llvm::Value*)>& body) {
  // The test is at the bottom, behind a guard: what does not change can move in front of the loop.
  llvm::Value* const any = e.b.CreateICmpSLT(begin, end);
  if (const auto* never = llvm::dyn_cast<llvm::ConstantInt>(any); never != nullptr && never->isZero()) return;
  llvm::BasicBlock* const preheader = e.block("preheader");
  llvm::BasicBlock* const inside = e.block("loop");
  llvm::BasicBlock* const after = e.block("after");
  e.b.CreateCondBr(any, preheader, after);
  e.b.SetInsertPoint(preheader);
  e.b.CreateBr(inside);
  e.b.SetInsertPoint(inside);
  llvm::PHINode* const index = e.b.CreatePHI(e.i64(), 2);
  index->addIncoming(begin, preheader);
  body(index);
  llvm::Value* const next = e.b.CreateAdd(index, e.b.getInt64(step), "", /*HasNUW=*/true, /*HasNSW=*/true);
  index->addIncoming(next, e.b.GetInsertBlock());
  e.b.CreateCondBr(e.b.CreateICmpSLT(next, end), inside, after);
  e.b.SetInsertPoint(after);
}

void when(Emission& e, llvm::Value* condition, const std::function<void()>& then) {
  if (const auto* known = llvm::dyn_cast<llvm::ConstantInt>(condition); known != nullptr) {
    if (!known->isZero()) then();
    return;
  }
  llvm::BasicBlock* const yes = e.block("then");
  llvm::BasicBlock* const next = e.block("next");
  e.b.CreateCondBr(condition, yes, next);
  e.b.SetInsertPoint(yes);
  then();
  e.b.CreateBr(next);
  e.b.SetInsertPoint(next);
}

llvm::Value* when(Emission& e, llvm::Value* condition, const std::function<llvm::Value*()>& then,
                  llvm::Value* otherwise) {
  if (condition == nullptr) return then();
  if (const auto* known = llvm::dyn_cast<llvm::ConstantInt>(condition); known != nullptr) {
    return known->isZero() ? otherwise : then();
  }
  llvm::BasicBlock* const before = e.b.GetInsertBlock();
  llvm::Value* value = nullptr;
  llvm::BasicBlock* end = nullptr;
  when(e, condition, [&] {
    value = then();
    end = e.b.GetInsertBlock();
  });
  llvm::PHINode* const result = e.b.CreatePHI(otherwise->getType(), 2);
  result->addIncoming(otherwise, before);
  result->addIncoming(value, end);
  return result;
}

}  // namespace tenon::codegen
