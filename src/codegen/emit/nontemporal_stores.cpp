#include "codegen/emit/nontemporal_stores.h"

#include "codegen/emit/vector_plan.h"
#include "kernel/loop/loop_walk.h"

namespace tenon::codegen {

using namespace loops;

namespace {

/// Of a body for one vector: about what memory takes to deliver and to fetch one.
constexpr int kMostCost = 24;
/// Of the non-temporal store instructions the narrowest.
constexpr size_t kLeastBytes = 16;

bool is_x86(const Target& target) { return target.triple.starts_with("x86_64"); }

/// How often each buffer is loaded from or stored to.
std::vector<int> count_accesses(const Kernel& kernel) {
  std::vector<int> accesses(kernel.buffers.size());
  for (const Value& value : kernel.values) {
    if (const auto* load = std::get_if<Load>(&value.what)) ++accesses[static_cast<size_t>(load->buffer)];
  }
  for (const Phase& phase : kernel.phases) {
    for_each_statement(phase.body, [&](const Statement& statement) {
      if (const auto* store = std::get_if<Store>(&statement.what)) ++accesses[static_cast<size_t>(store->buffer)];
    });
  }
  return accesses;
}

/// The store of a loop to an output; null where it, or what else there is in the loop, does not allow it.
const Store* nontemporal_in(const Kernel& kernel, const loops::Loop& loop, const std::vector<int>& accesses,
                            const Target& target) {
  const Store* found = nullptr;
  for (const Statement& statement : loop.body) {
    const auto* const store = std::get_if<Store>(&statement.what);
    if (store == nullptr && !std::holds_alternative<Define>(statement.what)) return nullptr;
    if (store == nullptr || kernel.buffers[static_cast<size_t>(store->buffer)].role != Role::output) continue;
    if (found != nullptr) return nullptr;
    found = store;
  }
  if (found == nullptr || accesses[static_cast<size_t>(found->buffer)] != 1) return nullptr;
  if (scale_of(found->at, loop.axis) != Extent(1) || !found->inside.empty()) return nullptr;
  const size_t size = byte_size(kernel.buffers[static_cast<size_t>(found->buffer)].dtype);
  return plan_vector_loop(kernel, loop, target).lanes * size < kLeastBytes ? nullptr : found;
}

}  // namespace

std::vector<NontemporalStore> plan_nontemporal_stores(const Kernel& kernel, const Target& target) {
  std::vector<NontemporalStore> plan;
  if (!is_x86(target) || has_products(kernel)) return plan;
  const std::vector<int> accesses = count_accesses(kernel);
  for (const Phase& phase : kernel.phases) {
    for_each_statement(phase.body, [&](const Statement& statement) {
      const auto* const loop = std::get_if<loops::Loop>(&statement.what);
      if (loop == nullptr || kernel.axes[static_cast<size_t>(loop->axis)].binding != loops::Binding::lanes ||
          block_cost(kernel, loop->body) > kMostCost) {
        return;
      }
      if (const Store* const store = nontemporal_in(kernel, *loop, accesses, target)) {
        plan.push_back({.loop = loop, .store = store});
      }
    });
  }
  return plan;
}

}  // namespace tenon::codegen
