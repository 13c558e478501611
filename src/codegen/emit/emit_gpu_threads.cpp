// Blocks of threads that run side by side.
#include <llvm/IR/Constants.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include <algorithm>
#include <utility>

#include "codegen/emit/llvm_emission.h"
#include "kernel/loop/loop_threads.h"

namespace tenon::codegen {
namespace {

constexpr int64_t kWarp = 32;
constexpr uint64_t kAllOfWarp = 0xffffffff;
constexpr int64_t kPartsOfBlock = loops::kMostThreads / kWarp;

/// A value as a word, and back.
llvm::Value* to_word(Emission& e, llvm::Value* value) {
  const unsigned bits = value->getType()->getScalarSizeInBits();
  return e.b.CreateZExt(e.b.CreateBitCast(value, e.b.getIntNTy(bits)), e.i64());
}

llvm::Value* from_word(Emission& e, llvm::Value* word, llvm::Type* type) {
  return e.b.CreateBitCast(e.b.CreateTrunc(word, e.b.getIntNTy(type->getScalarSizeInBits())), type);
}

/// What another thread of the warp holds: the one `by` further, or thread `by`.
llvm::Value* shuffle(Emission& e, llvm::Value* value, llvm::Intrinsic::ID how, int64_t by) {
  llvm::Type* const type = value->getType();
  const unsigned bits = type->getScalarSizeInBits();
  llvm::Value* const word = to_word(e, value);
  const auto half = [&](llvm::Value* part) -> llvm::Value* {
    return e.b.CreateIntrinsic(
        how, {}, {e.b.getInt32(kAllOfWarp), part, e.b.getInt32(static_cast<uint32_t>(by)), e.b.getInt32(kWarp - 1)});
  };
  llvm::Value* result = e.b.CreateZExt(half(e.b.CreateTrunc(word, e.b.getInt32Ty())), e.i64());
  if (bits > 32) {
    llvm::Value* const high = half(e.b.CreateTrunc(e.b.CreateLShr(word, 32), e.b.getInt32Ty()));
    result = e.b.CreateOr(result, e.b.CreateShl(e.b.CreateZExt(high, e.i64()), 32));
  }
  return from_word(e, result, type);
}

Partial shuffle(Emission& e, const Partial& part, llvm::Intrinsic::ID how, int64_t by) {
  return {shuffle(e, part.value, how, by), part.position == nullptr ? nullptr : shuffle(e, part.position, how, by)};
}

/// Words in shared memory, one a warp; positions lie behind values.
class WarpParts {
 public:
  WarpParts(Emission& e, const Partial& like) : e_(e), like_(like) {}

  void write(llvm::Value* warp, const Partial& part) {
    e_.b.CreateStore(to_word(e_, part.value), place(warp, 0));
    if (part.position != nullptr) e_.b.CreateStore(part.position, place(warp, kPartsOfBlock));
  }

  Partial read(int64_t warp) {
    llvm::Value* const number = e_.b.getInt64(static_cast<uint64_t>(warp));
    Partial part{from_word(e_, e_.b.CreateLoad(e_.i64(), place(number, 0)), like_.value->getType())};
    if (like_.position != nullptr) part.position = e_.b.CreateLoad(e_.i64(), place(number, kPartsOfBlock));
    return part;
  }

 private:
  llvm::Value* place(llvm::Value* warp, int64_t behind) {
    llvm::Value* const number = e_.b.CreateAdd(warp, e_.b.getInt64(static_cast<uint64_t>(behind)));
    return e_.b.CreateInBoundsGEP(e_.i64(), e_.gpu->parts, number);
  }

  Emission& e_;
  const Partial& like_;
};

}  // namespace

void gpu_barrier(Emission& e) { e.b.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier0, {}, {}); }

void gpu_by_one_thread(Emission& e, const std::function<void()>& then) {
  if (e.gpu->group == 1) return then();
  const auto group = static_cast<uint64_t>(e.gpu->group);
  when(e, e.b.CreateICmpEQ(e.b.CreateURem(e.gpu->thread, e.b.getInt64(group)), e.b.getInt64(0)), then);
}

void gpu_report(Emission& e, llvm::Value* site, llvm::Value* position, llvm::Value* size) {
  llvm::Value* const status = e.gpu->status;
  llvm::Value* const seen = e.b.CreateAtomicCmpXchg(status, e.b.getInt64(0), site, llvm::MaybeAlign(8),
                                                    llvm::AtomicOrdering::Monotonic, llvm::AtomicOrdering::Monotonic);
  when(e, e.b.CreateExtractValue(seen, 1), [&] {
    e.b.CreateAlignedStore(position, e.b.CreateConstGEP1_64(e.i64(), status, 1), llvm::Align(8));
    e.b.CreateAlignedStore(size, e.b.CreateConstGEP1_64(e.i64(), status, 2), llvm::Align(8));
  });
}

namespace {

/// The body at `number`, which no other loop bound to threads is around or inside of: `lanes` iterations from there on.
/// Those of a tile that is not whole run under a mask.
void run_side_by_side(Emission& e, const loops::Loop& loop, llvm::Value* number, llvm::Value* left) {
  const auto lanes = static_cast<unsigned>(e.gpu->lanes);
  const auto run = [&](bool masked) {
    llvm::BasicBlock* const before = e.b.GetInsertBlock();
    llvm::BasicBlock* const here = e.block("thread");
    e.b.CreateBr(here);
    e.b.SetInsertPoint(here);
    e.axes[static_cast<size_t>(loop.axis)] = number;
    e.heads[static_cast<size_t>(loop.axis)] = {.block = here};
    e.vector = {.lanes = lanes,
                .axis = loop.axis,
                .mask = nullptr,
                .unit_strides = false,
                .nontemporal = nullptr,
                .before = before};
    if (masked) e.vector.mask = lanes_below(e, left);
    e.thread_axes.push_back(loop.axis);
    emit_block(e, loop.body);
    e.thread_axes.pop_back();
    e.vector = {};
  };
  if (left == nullptr) return run(false);
  llvm::Value* const count = e.b.getInt64(lanes);
  when(e, e.b.CreateICmpSGE(left, count), [&] { run(false); });
  llvm::Value* const some = e.b.CreateAnd(e.b.CreateICmpSGT(left, e.b.getInt64(0)), e.b.CreateICmpSLT(left, count));
  when(e, some, [&] { run(true); });
}

/// Where each thread has several iterations.
void gpu_several(Emission& e, const loops::Loop& loop) {
  const loops::Axis& axis = e.axis(loop.axis);
  const int64_t outside = std::exchange(e.gpu->group, 1);
  TENON_CHECK(outside * e.gpu->lanes == e.gpu->threads, "{}: a nest of loops bound to threads", e.kernel.name);
  llvm::Value* const number = e.b.CreateNSWMul(e.gpu->thread, e.b.getInt64(static_cast<uint64_t>(e.gpu->lanes)));
  llvm::Value* const left = axis.tile_of < 0 ? nullptr : e.b.CreateNSWSub(trip_count(e, axis), number);
  int& depth = e.depths[static_cast<size_t>(loop.axis)];
  depth = 1 + *std::ranges::max_element(e.depths);
  run_side_by_side(e, loop, number, left);
  e.axes[static_cast<size_t>(loop.axis)] = nullptr;
  depth = 0;
  e.gpu->group = outside;
}

}  // namespace

void gpu_thread_loop(Emission& e, const loops::Loop& loop) {
  if (e.gpu->lanes > 1) return gpu_several(e, loop);
  const loops::Axis& axis = e.axis(loop.axis);
  const int64_t extent = loops::thread_extent(e.kernel, loop.axis);
  const int64_t outside = e.gpu->group;
  e.gpu->group = outside / extent;
  llvm::Value* const number =
      e.b.CreateURem(e.b.CreateUDiv(e.gpu->thread, e.b.getInt64(static_cast<uint64_t>(e.gpu->group))),
                     e.b.getInt64(static_cast<uint64_t>(extent)));
  llvm::Value* const exists = axis.tile_of < 0 ? e.b.getTrue() : e.b.CreateICmpSLT(number, trip_count(e, axis));
  int& depth = e.depths[static_cast<size_t>(loop.axis)];
  depth = 1 + *std::ranges::max_element(e.depths);
  e.made_depths[loop.axis] = 0;  // a thread has one number all along
  when(e, exists, [&] {
    e.axes[static_cast<size_t>(loop.axis)] = number;
    llvm::BasicBlock* const here = e.block("thread");
    e.b.CreateBr(here);
    e.b.SetInsertPoint(here);
    e.heads[static_cast<size_t>(loop.axis)] = {.block = here};
    e.thread_axes.push_back(loop.axis);
    emit_block(e, loop.body);
    e.thread_axes.pop_back();
  });
  e.made_depths.erase(loop.axis);
  e.axes[static_cast<size_t>(loop.axis)] = nullptr;
  depth = 0;
  e.gpu->group = outside;
}

Partial gpu_end_parts(Emission& e, int accumulator) {
  const int64_t count = e.gpu->threads / e.gpu->lanes;
  TENON_CHECK(
      e.parts[static_cast<size_t>(accumulator)].count >= e.gpu->threads && e.gpu->group == count && count >= kWarp,
      "{}: parts of an accumulator that are not all threads of a block", e.kernel.name);
  e.parts[static_cast<size_t>(accumulator)] = {};
  Partial held = end_accumulator(e, accumulator);
  for (int64_t apart = 1; apart < kWarp; apart *= 2) {
    held = combine(e, accumulator, held, shuffle(e, held, llvm::Intrinsic::nvvm_shfl_sync_down_i32, apart));
  }
  if (count == kWarp) return shuffle(e, held, llvm::Intrinsic::nvvm_shfl_sync_idx_i32, 0);
  const auto warp_size = e.b.getInt64(kWarp);
  WarpParts memory(e, held);
  when(e, e.b.CreateICmpEQ(e.b.CreateURem(e.gpu->thread, warp_size), e.b.getInt64(0)),
       [&] { memory.write(e.b.CreateUDiv(e.gpu->thread, warp_size), held); });
  gpu_barrier(e);
  std::vector<Partial> parts;
  for (int64_t i = 0; i < count / kWarp; ++i)
    parts.push_back(memory.read(i));
  for (size_t apart = 1; apart < parts.size(); apart *= 2) {
    for (size_t i = 0; i + apart < parts.size(); i += 2 * apart)
      parts[i] = combine(e, accumulator, parts[i], parts[i + apart]);
  }
  gpu_barrier(e);
  return parts[0];
}

}  // namespace tenon::codegen
