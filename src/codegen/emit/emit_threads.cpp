// Blocks of threads on a machine that has none: loops bound to threads run one iteration after the other.
#include <algorithm>

#include "codegen/emit/llvm_emission.h"
#include "codegen/math/llvm_scalar.h"
#include "kernel/loop/loop_threads.h"

namespace tenon::codegen {

namespace {

/// Of the thread that runs, counted in the loops bound to threads that are open past the first `outside`.
llvm::Value* thread_number(Emission& e, size_t outside) {
  llvm::Value* number = e.b.getInt64(0);
  for (size_t i = outside; i < e.thread_axes.size(); ++i) {
    const int axis = e.thread_axes[i];
    const auto extent = static_cast<uint64_t>(loops::thread_extent(e.kernel, axis));
    number = e.b.CreateNSWAdd(e.b.CreateNSWMul(number, e.b.getInt64(extent)), e.axes[static_cast<size_t>(axis)]);
  }
  return number;
}

/// f(slot of the part, type) for its value, and for its position where it has one.
template <class F>
void for_each_slot(Emission& e, const ThreadParts& parts, llvm::Value* number, const F& f) {
  const auto visit = [&](llvm::Value* memory, llvm::Value* Partial::* member) {
    if (memory == nullptr) return;
    llvm::Type* const array = llvm::cast<llvm::AllocaInst>(memory)->getAllocatedType();
    f(e.b.CreateInBoundsGEP(array, memory, {e.b.getInt64(0), number}), array->getArrayElementType(), member);
  };
  visit(parts.memory.value, &Partial::value);
  visit(parts.memory.position, &Partial::position);
}

Partial read_part(Emission& e, const ThreadParts& parts, llvm::Value* number) {
  Partial part;
  for_each_slot(e, parts, number, [&](llvm::Value* slot, llvm::Type* type, llvm::Value* Partial::* member) {
    part.*member = e.b.CreateLoad(type, slot);
  });
  return part;
}

void write_part(Emission& e, const ThreadParts& parts, llvm::Value* number, const Partial& part) {
  for_each_slot(e, parts, number, [&](llvm::Value* slot, llvm::Type*, llvm::Value* Partial::* member) {
    e.b.CreateStore(part.*member, slot);
  });
}

/// Accumulators in parts that a block feeds outside of further loops bound to threads.
void find_fed_parts(const Emission& e, const loops::Block& block, std::vector<int>& found) {
  for (const loops::Statement& statement : block) {
    if (const auto* const loop = std::get_if<loops::Loop>(&statement.what)) {
      if (e.axis(loop->axis).binding != loops::Binding::threads) find_fed_parts(e, loop->body, found);
    }
    const auto* const fed = std::get_if<loops::Accumulate>(&statement.what);
    if (fed != nullptr && e.parts[static_cast<size_t>(fed->accumulator)].count != 0 &&
        std::ranges::find(found, fed->accumulator) == found.end()) {
      found.push_back(fed->accumulator);
    }
  }
}

}  // namespace

std::vector<int> begin_parts(Emission& e, const loops::Loop& loop) {
  std::vector<int> whole;
  for (const int each : loop.begins) {
    const int64_t count = loops::parts_of(e.kernel, loop, each);
    ThreadParts& parts = e.parts[static_cast<size_t>(each)];
    parts = {};
    if (count == 1) {
      whole.push_back(each);
      continue;
    }
    parts.count = count;
    parts.outside = e.thread_axes.size();
    if (e.gpu != nullptr) {  // each thread holds its own
      whole.push_back(each);
      continue;
    }
    const Partial none = identity_of(e, each);
    const auto reserve = [&](llvm::Value* like) -> llvm::Value* {
      if (like == nullptr) return nullptr;
      llvm::Type* const array = llvm::ArrayType::get(like->getType(), static_cast<uint64_t>(count));
      return e.in_block(e.allocas, [&] { return e.b.CreateAlloca(array); });
    };
    parts.memory = {reserve(none.value), reserve(none.position)};
    counted_loop(e, e.b.getInt64(0), e.b.getInt64(static_cast<uint64_t>(count)), 1,
                 [&](llvm::Value* number) { write_part(e, parts, number, none); });
  }
  return whole;
}

Partial end_parts(Emission& e, int accumulator) {
  if (e.gpu != nullptr) return gpu_end_parts(e, accumulator);
  ThreadParts& parts = e.parts[static_cast<size_t>(accumulator)];
  for (int64_t apart = 1; apart < parts.count; apart *= 2) {
    llvm::Value* const end = e.b.getInt64(static_cast<uint64_t>(parts.count - apart));
    counted_loop(e, e.b.getInt64(0), end, static_cast<unsigned>(2 * apart), [&](llvm::Value* to) {
      llvm::Value* const from = e.b.CreateNSWAdd(to, e.b.getInt64(static_cast<uint64_t>(apart)));
      const Partial held = read_part(e, parts, to);
      write_part(e, parts, to, combine(e, accumulator, held, read_part(e, parts, from)));
    });
  }
  const Partial total = read_part(e, parts, e.b.getInt64(0));
  parts = {};
  return total;
}

void emit_thread(Emission& e, const loops::Loop& loop) {
  e.thread_axes.push_back(loop.axis);
  std::vector<int> fed;
  find_fed_parts(e, loop.body, fed);
  begin_accumulators(e, fed);
  emit_block(e, loop.body);
  for (const int each : fed) {
    const Partial own = end_accumulator(e, each);
    const ThreadParts& parts = e.parts[static_cast<size_t>(each)];
    llvm::Value* const number = thread_number(e, parts.outside);
    write_part(e, parts, number, combine(e, each, read_part(e, parts, number), own));
  }
  e.thread_axes.pop_back();
}

llvm::Value* scratch_of_thread(Emission& e, int buffer, llvm::Value* pointer) {
  if (e.gpu != nullptr || e.thread_axes.empty() || !is_private_scratch(e.buffer(buffer))) return pointer;
  std::vector<loops::Term> axes;
  for (const int axis : e.thread_axes)
    axes.push_back({.axis = axis, .scale = 1});
  return e.in_head_of(axes, [&] {
    llvm::Value* const elements = e.b.CreateNSWMul(thread_number(e, 0), extent(e, e.buffer(buffer).elements));
    return e.b.CreateGEP(memory_type(e.context(), e.buffer(buffer).dtype, 0), pointer, elements);
  });
}

}  // namespace tenon::codegen
