// Non-temporal stores: when they are worth it, and the fence that has to follow them.
#include <llvm/IR/IntrinsicsX86.h>

#include "codegen/emit/llvm_address.h"

namespace tenon::codegen {

namespace {

/// Whether a store is of so much, into whole lines, and not onto what the kernel reads: what takes the place of an
/// input lies in the caches already.
llvm::Value* is_worth_it(Emission& e, const loops::Store& store, int lane_axis) {
  llvm::Value* const size = e.b.getInt64(byte_size(e.buffer(store.buffer).dtype));
  llvm::Value* bytes = size;
  llvm::Value* const base = buffer_pointer(e, store.buffer);
  llvm::Value* places = e.b.CreateOr(e.b.CreatePtrToInt(base, e.i64()), e.b.CreateMul(extent(e, store.at.base), size));
  for (const loops::Term& term : store.at.terms) {
    bytes = e.b.CreateMul(bytes, extent(e, e.axis(term.axis).extent));
    if (term.axis != lane_axis) places = e.b.CreateOr(places, e.b.CreateMul(extent(e, term.scale), size));
  }
  llvm::Value* const rest = e.b.CreateAnd(places, e.b.getInt64(kLine - 1));
  llvm::Value* const least = e.b.getInt64(static_cast<uint64_t>(e.options.nontemporal_bytes));
  llvm::Value* worth = e.b.CreateAnd(e.b.CreateICmpUGE(bytes, least), e.b.CreateICmpEQ(rest, e.b.getInt64(0)));
  for (const loops::Value& value : e.kernel.values) {
    const auto* const load = std::get_if<loops::Load>(&value.what);
    if (load != nullptr && load->at == store.at && e.buffer(load->buffer).role == loops::Role::input) {
      worth = e.b.CreateAnd(worth, e.b.CreateICmpNE(base, buffer_pointer(e, load->buffer)));
    }
  }
  return worth;
}

llvm::Value* found_out_once(Emission& e, size_t planned) {
  llvm::Value*& worth = e.nontemporal[planned];
  if (worth == nullptr) {
    const NontemporalStore& what = e.nontemporal_stores[planned];
    worth = e.in_block(e.entry, [&] { return is_worth_it(e, *what.store, what.loop->axis); });
  }
  return worth;
}

}  // namespace

llvm::Value* is_nontemporal_loop(Emission& e, const loops::Loop& loop) {
  for (size_t i = 0; i < e.nontemporal_stores.size(); ++i) {
    if (e.nontemporal_stores[i].loop == &loop) return found_out_once(e, i);
  }
  return nullptr;
}

llvm::Value* is_nontemporal_buffer(Emission& e, int buffer) {
  for (size_t i = 0; i < e.nontemporal_stores.size(); ++i) {
    if (e.nontemporal_stores[i].store->buffer == buffer) return found_out_once(e, i);
  }
  return nullptr;
}

void order_nontemporal_stores(Emission& e) {
  llvm::Value* any = nullptr;
  for (llvm::Value* each : e.nontemporal) {
    if (each != nullptr) any = any == nullptr ? each : e.b.CreateOr(any, each);
  }
  if (any != nullptr) when(e, any, [&] { e.b.CreateIntrinsic(llvm::Intrinsic::x86_sse_sfence, {}, {}); });
}

}  // namespace tenon::codegen
