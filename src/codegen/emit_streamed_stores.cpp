// Stores past the caches: when they are worth it, and what has to follow them.
#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>

#include "codegen/llvm_address.h"

namespace tenon::codegen {

namespace {

constexpr uint64_t kLine = 64;

/// Whether one store of the loop is of so much, into whole lines, and not onto what the loop reads.
llvm::Value* is_worth_it(Emission& e, const loops::Loop& loop, const loops::Store& store) {
  llvm::Value* const size = e.b.getInt64(byte_size(e.buffer(store.buffer).dtype));
  llvm::Value* bytes = size;
  llvm::Value* const base = buffer_pointer(e, store.buffer);
  llvm::Value* places = e.b.CreateOr(e.b.CreatePtrToInt(base, e.i64()), e.b.CreateMul(extent(e, store.at.base), size));
  for (const loops::Term& term : store.at.terms) {
    bytes = e.b.CreateMul(bytes, extent(e, e.axis(term.axis).extent));
    if (term.axis != loop.axis) places = e.b.CreateOr(places, e.b.CreateMul(extent(e, term.scale), size));
  }
  llvm::Value* const rest = e.b.CreateAnd(places, e.b.getInt64(kLine - 1));
  llvm::Value* worth =
      e.b.CreateAnd(e.b.CreateICmpUGE(bytes, e.b.getInt64(static_cast<uint64_t>(e.options.streamed_bytes))),
                    e.b.CreateICmpEQ(rest, e.b.getInt64(0)));
  for (const loops::Statement& statement : loop.body) {
    const auto* const define = std::get_if<loops::Define>(&statement.what);
    if (define == nullptr) continue;
    const auto* const load = std::get_if<loops::Load>(&e.kernel.values[static_cast<size_t>(define->value)].what);
    if (load == nullptr || e.buffer(load->buffer).role != loops::Role::input) continue;
    worth = e.b.CreateAnd(worth, e.b.CreateICmpNE(base, buffer_pointer(e, load->buffer)));
  }
  return worth;
}

}  // namespace

llvm::Value* stores_past_caches(Emission& e, const loops::Loop& loop) {
  const auto planned = std::ranges::find(e.streamed_stores, &loop, &StreamedStores::loop);
  if (planned == e.streamed_stores.end()) return nullptr;
  llvm::Value*& worth = e.past_caches[static_cast<size_t>(planned - e.streamed_stores.begin())];
  if (worth == nullptr) {
    worth = e.in_block(e.entry, [&] {
      llvm::Value* all = nullptr;
      for (const loops::Store* each : planned->stores)
        all = both(e, all, is_worth_it(e, loop, *each));
      return all;
    });
  }
  return worth;
}

llvm::Value* is_stored_past_caches(Emission& e, int buffer) {
  for (const StreamedStores& planned : e.streamed_stores) {
    if (std::ranges::find(planned.stores, buffer, &loops::Store::buffer) != planned.stores.end()) {
      return stores_past_caches(e, *planned.loop);
    }
  }
  return nullptr;
}

void order_streamed_stores(Emission& e) {
  llvm::Value* any = nullptr;
  for (llvm::Value* each : e.past_caches) {
    if (each != nullptr) any = any == nullptr ? each : e.b.CreateOr(any, each);
  }
  if (any != nullptr) when(e, any, [&] { e.b.CreateIntrinsic(llvm::Intrinsic::x86_sse_sfence, {}, {}); });
}

}  // namespace tenon::codegen
