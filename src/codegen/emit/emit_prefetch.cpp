// Asks for lines of memory ahead of their use.
#include <llvm/IR/Intrinsics.h>

#include "codegen/emit/llvm_address.h"

namespace tenon::codegen {

namespace {

/// Bytes ahead: far enough for the latency of memory, near enough that a row, the next one and what they become share
/// the second cache.
constexpr uint64_t kNearest = 8192;
constexpr uint64_t kFarthest = 131072;
constexpr uint64_t kNearestApart = 4096;

}  // namespace

void prefetch(Emission& e, const Prefetch& what) {
  const uint64_t size = byte_size(e.buffer(what.buffer).dtype);
  llvm::Value* const ahead = e.in_block(e.entry, [&] {
    llvm::Value* next = extent(e, what.ahead);
    if (what.single) {
      llvm::Value* const more = e.b.CreateICmpSGT(extent(e, what.single->iterations), e.b.getInt64(1));
      next = e.b.CreateSelect(more, next, extent(e, what.single->ahead));
    }
    llvm::Value* const bytes = e.b.CreateNSWMul(next, e.b.getInt64(size));
    if (what.apart) {
      llvm::Value* const one = e.b.getInt64(1);
      llvm::Value* const length = e.b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, extent(e, *what.apart), one);
      llvm::Value* const rows = e.b.CreateUDiv(e.b.getInt64(kNearestApart / size), length);
      return e.b.CreateNSWMul(bytes, e.b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, rows, one));
    }
    llvm::Value* const enough = e.b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, bytes, e.b.getInt64(kNearest));
    return e.b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, enough, e.b.getInt64(kFarthest));
  });
  llvm::Value* first = e.b.CreateGEP(e.b.getInt8Ty(), address_of(e, what.buffer, what.at).first, ahead);
  const auto parts = static_cast<uint64_t>(what.parts);
  const auto share = static_cast<uint64_t>(what.share);
  if (share < parts) {
    // The lanes stand at a position of the row; that of what is fetched moves so much slower.
    llvm::Value* const start = e.in_block(e.entry, [&] {
      llvm::Value* const row = e.b.CreateNSWMul(extent(e, e.axis(e.vector.axis).extent), e.b.getInt64(size));
      llvm::Value* const part = e.b.CreateUDiv(row, e.b.getInt64(parts));
      return e.b.CreateNSWMul(part, e.b.getInt64(static_cast<uint64_t>(what.first_part)));
    });
    llvm::Value* const at = e.axes[static_cast<size_t>(e.vector.axis)];
    const uint64_t slower = size * (parts - share);
    llvm::Value* const too_far = slower % parts == 0
                                     ? e.b.CreateNSWMul(at, e.b.getInt64(slower / parts))
                                     : e.b.CreateUDiv(e.b.CreateNSWMul(at, e.b.getInt64(slower)), e.b.getInt64(parts));
    first = e.b.CreateGEP(e.b.getInt8Ty(), first, e.b.CreateNSWSub(start, too_far));
  }
  if (llvm::Value* const past = what.writes ? is_nontemporal_buffer(e, what.buffer) : nullptr; past != nullptr) {
    first = e.b.CreateSelect(past, e.args, first);  // what is stored past the caches must not be in them
  }
  for (uint64_t at = 0; at * parts < e.vector.lanes * size * share; at += kLine) {
    llvm::Value* const line = e.b.CreateConstGEP1_64(e.b.getInt8Ty(), first, at);
    llvm::Value* const write = e.b.getInt32(what.writes ? 1 : 0);
    llvm::Value* const locality = e.b.getInt32(3);  // the first cache
    llvm::Value* const is_data = e.b.getInt32(1);
    e.b.CreateIntrinsic(llvm::Intrinsic::prefetch, {e.b.getPtrTy()}, {line, write, locality, is_data});
  }
}

}  // namespace tenon::codegen
