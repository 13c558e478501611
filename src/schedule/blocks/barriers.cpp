#include "schedule/blocks/barriers.h"

#include <algorithm>

#include "kernel/loop/loop_walk.h"
#include "schedule/draft/affine.h"

namespace tenon::schedule {
namespace {

using loops::Block;
using loops::Kernel;

/// Buffers that statements touch.
struct Uses {
  std::set<int> reads, writes;

  void add(const Uses& other) {
    reads.insert(other.reads.begin(), other.reads.end());
    writes.insert(other.writes.begin(), other.writes.end());
  }
};

bool meet(const std::set<int>& a, const std::set<int>& b) {
  return std::ranges::any_of(a, [&](int each) { return b.contains(each); });
}

bool conflict(const Uses& a, const Uses& b) {
  return meet(a.writes, b.writes) || meet(a.writes, b.reads) || meet(a.reads, b.writes);
}

class Barriers {
 public:
  Barriers(Kernel& kernel, const std::set<int>& steps) : kernel_(kernel), steps_(steps) {}

  void run() {
    for (loops::Phase& phase : kernel_.phases) {
      Uses open;
      add_to(phase.body, open);
    }
  }

 private:
  Uses uses_of(const Block& block) const {
    Uses uses;
    for_each_statement(block, [&](const loops::Statement& statement) {
      if (const auto* define = std::get_if<loops::Define>(&statement.what)) {
        const auto& what = kernel_.values[static_cast<size_t>(define->value)].what;
        const auto* load = std::get_if<loops::Load>(&what);
        if (load != nullptr && is_shared(load->buffer)) uses.reads.insert(load->buffer);
      } else if (const auto* store = std::get_if<loops::Store>(&statement.what)) {
        if (is_shared(store->buffer)) uses.writes.insert(store->buffer);
      }
    });
    return uses;
  }

  bool is_shared(int buffer) const { return !is_private_scratch(kernel_.buffers[static_cast<size_t>(buffer)]); }

  bool is_of_threads(const loops::Loop& loop) const {
    return kernel_.axes[static_cast<size_t>(loop.axis)].binding == loops::Binding::threads;
  }

  bool is_nest_of_threads(const loops::Loop& loop) const { return is_of_threads(loop) || steps_.contains(loop.axis); }

  /// Iterations of the loop touch what others of them touch, as far as is known.
  bool meets_itself(const loops::Loop& loop, const Uses& uses) const {
    return std::ranges::any_of(
        uses.writes, [&](int buffer) { return uses.reads.contains(buffer) || !every_store_moves(loop, buffer); });
  }

  /// Each iteration writes to elements of its own.
  bool every_store_moves(const loops::Loop& loop, int buffer) const {
    bool moves = true;
    for_each_statement(loop.body, [&](const loops::Statement& statement) {
      const auto* store = std::get_if<loops::Store>(&statement.what);
      if (store != nullptr && store->buffer == buffer) {
        moves = moves && scale_along(store->at, loop.axis) != Extent(0);
      }
    });
    return moves;
  }

  /// What stands behind the last barrier of a loop touches what stands before the first one, in the next iteration.
  bool meets_next(const Block& body) const {
    const auto is_barrier = [](const loops::Statement& each) {
      return std::get_if<loops::Barrier>(&each.what) != nullptr;
    };
    const auto first = std::ranges::find_if(body, is_barrier);
    if (first == body.end()) return true;
    const auto last = std::find_if(body.rbegin(), body.rend(), is_barrier).base();
    return conflict(uses_of({body.begin(), first}), uses_of({last, body.end()}));
  }

  void add_to(Block& block, Uses& open) {
    Block result;
    for (loops::Statement& statement : block) {
      Block one;
      one.push_back(std::move(statement));
      const Uses uses = uses_of(one);
      if (conflict(open, uses)) {
        result.push_back({loops::Barrier{}});
        open = {};
      }
      if (auto* loop = std::get_if<loops::Loop>(&one[0].what); loop != nullptr && !is_nest_of_threads(*loop)) {
        Uses inside = open;
        add_to(loop->body, inside);
        if (meets_itself(*loop, uses) && meets_next(loop->body)) {
          loop->body.push_back({loops::Barrier{}});
        }
      }
      open.add(uses);
      result.push_back(std::move(one[0]));
    }
    block = std::move(result);
  }

  Kernel& kernel_;
  const std::set<int>& steps_;
};

}  // namespace

void add_barriers(Kernel& kernel, const std::set<int>& steps) { Barriers(kernel, steps).run(); }

}  // namespace tenon::schedule
