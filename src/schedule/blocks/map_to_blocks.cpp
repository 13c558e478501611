#include "schedule/blocks/map_to_blocks.h"

#include <set>

#include "kernel/loop/loop_threads.h"
#include "kernel/loop/loop_walk.h"
#include "schedule/blocks/block_phase.h"
#include "schedule/blocks/phase_edit.h"
#include "schedule/blocks/split_sums.h"
#include "schedule/blocks/thread_phase.h"

namespace tenon::schedule {
namespace {

using loops::Kernel;

/// Moves the numbers of everything that a kernel of one phase names.
class Renumbering {
 public:
  /// Of buffers, those from `first_own` on are the part's own.
  Renumbering(Kernel& part, const Kernel& before, size_t first_own)
      : part_(part),
        first_own_(static_cast<int>(first_own)),
        buffers_(static_cast<int>(before.buffers.size() - first_own)),
        axes_(static_cast<int>(before.axes.size())),
        values_(static_cast<int>(before.values.size())),
        accumulators_(static_cast<int>(before.accumulators.size())) {}

  void run() {
    for (loops::Axis& axis : part_.axes) {
      move(axis.tile_of, axes_);
    }
    for_each_position(part_, [&](loops::Affine& at) {
      for (loops::Term& term : at.terms) {
        term.axis += axes_;
      }
    });
    for (loops::Value& value : part_.values) {
      move(value);
    }
    for (loops::Accumulator& accumulator : part_.accumulators) {
      move(accumulator.input, values_);
      move(accumulator.position, values_);
    }
    for (loops::Phase& phase : part_.phases) {
      for (int& axis : phase.grid) {
        axis += axes_;
      }
      move(phase.body);
    }
  }

 private:
  static void move(int& i, int by) { i = i < 0 ? i : i + by; }

  void move_buffer(int& buffer) const { buffer += buffer < first_own_ ? 0 : buffers_; }

  void move(loops::Value& value) const {
    if (auto* load = std::get_if<loops::Load>(&value.what)) {
      move_buffer(load->buffer);
      for (loops::Lookup& lookup : load->lookups) {
        lookup.value += values_;
      }
    } else if (auto* compute = std::get_if<loops::Compute>(&value.what)) {
      for (int& operand : compute->operands) {
        operand += values_;
      }
    } else if (auto* result = std::get_if<loops::Result>(&value.what)) {
      result->accumulator += accumulators_;
    }
  }

  void move(loops::Block& block) const {
    for (loops::Statement& statement : block) {
      if (auto* loop = std::get_if<loops::Loop>(&statement.what)) {
        loop->axis += axes_;
        move(loop->unless, values_);
        for (int& each : loop->begins) {
          each += accumulators_;
        }
        move(loop->body);
      } else if (auto* define = std::get_if<loops::Define>(&statement.what)) {
        define->value += values_;
      } else if (auto* store = std::get_if<loops::Store>(&statement.what)) {
        store->value += values_;
        move_buffer(store->buffer);
      } else if (auto* fed = std::get_if<loops::Accumulate>(&statement.what)) {
        fed->accumulator += accumulators_;
      }
    }
  }

  Kernel& part_;
  int first_own_, buffers_;
  int axes_, values_, accumulators_;
};

template <class T>
void append(std::vector<T>& to, std::vector<T>& from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

std::set<int> used_buffers(const Kernel& kernel) {
  std::set<int> used;
  for (const loops::Phase& phase : kernel.phases) {
    for_each_statement(phase.body, [&](const loops::Statement& statement) {
      if (const auto* store = std::get_if<loops::Store>(&statement.what)) used.insert(store->buffer);
    });
  }
  for (const loops::Value& value : kernel.values) {
    if (const auto* load = std::get_if<loops::Load>(&value.what)) used.insert(load->buffer);
  }
  return used;
}

/// Threads of a block, at most. Where a machine's thread takes several iterations (loops::iterations_of_thread()), a
/// block has that many times fewer.
constexpr int64_t kThreads = 256;
constexpr int64_t kThreadsOfSeveral = loops::kMostThreads;

Kernel mapped_to(const Kernel& part, int64_t most_threads) {
  Kernel result = part;
  if (!map_to_threads(result, most_threads)) map_to_threads_of_blocks(result, most_threads);
  return pruned(result);
}

Kernel mapped(const Kernel& part) {
  Kernel result = mapped_to(part, kThreadsOfSeveral);
  if (has_long_sums(result)) {
    result = mapped_to(part, kThreads);
    split_sums(result);
    return result;
  }
  const bool takes_several = loops::iterations_of_thread(result, result.phases.front()) > 1;
  return takes_several ? result : mapped_to(part, kThreads);
}

}  // namespace

Kernel map_to_blocks(const Kernel& kernel) {
  Kernel result = kernel;
  result.axes.clear();
  result.values.clear();
  result.accumulators.clear();
  result.phases.clear();
  result.may_share.clear();
  for (const loops::Phase& phase : kernel.phases) {
    Kernel part = kernel;
    part.phases = {phase};
    part = pruned(part);
    part = mapped(part);
    const size_t given = kernel.buffers.size();
    for (size_t i = 0; i < given; ++i) {
      if (part.buffers[i].scope == loops::Scope::block) result.buffers[i].scope = loops::Scope::block;
    }
    Renumbering(part, result, given).run();
    result.buffers.insert(result.buffers.end(), part.buffers.begin() + static_cast<std::ptrdiff_t>(given),
                          part.buffers.end());
    append(result.axes, part.axes);
    append(result.values, part.values);
    append(result.accumulators, part.accumulators);
    append(result.phases, part.phases);
  }
  const std::set<int> used = used_buffers(result);
  for (size_t i = 0; i < result.buffers.size(); ++i) {
    loops::Buffer& buffer = result.buffers[i];
    if (buffer.role == loops::Role::scratch && !used.contains(static_cast<int>(i))) buffer.elements = 0;
  }
  return result;
}

}  // namespace tenon::schedule
