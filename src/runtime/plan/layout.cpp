#include "runtime/plan/layout.h"

#include <algorithm>

#include "base/checked.h"
#include "base/fail.h"
#include "runtime/memory/arena.h"
#include "runtime/plan/control_memory.h"

namespace tenon::runtime {
namespace {

/// Sizes below this are no question of the machine's memory.
constexpr int64_t kSurelyThere = int64_t{1} << 28;

class Layout {
 public:
  Layout(const Program& program, const Plan& plan, const Waves& waves, Specialization& s)
      : program_(program), plan_(plan), s_(s) {
    times_.resize(waves.size() == 0 ? 0 : plan.steps.size());
    for (size_t i = 0; i < waves.size(); ++i) {
      for (const int step : waves.wave(i)) {
        times_[static_cast<size_t>(step)] = static_cast<int>(i);
      }
      crowded_.push_back(waves.wave(i).size() > 1);
    }
  }

  void run() {
    block_of_.assign(plan_.slots.size(), -1);
    blocks_.reserve(plan_.slots.size());
    if (!times_.empty()) {
      find_lifetimes();
    }
    find_windows();
    for (size_t i = 0; i < plan_.slots.size(); ++i) {
      add_slot(i);
    }
    add_windows();
    for (size_t i = 0; i < plan_.slots.size(); ++i) {
      take_over(i);
    }
    place_blocks();
  }

  /// After run().
  std::vector<ArenaBlock> blocks() const {
    std::vector<ArenaBlock> result;
    for (size_t i = 0; i < plan_.slots.size(); ++i) {
      if (block_of_[i] >= 0 && root(block_of_[i]) == static_cast<size_t>(block_of_[i])) {
        result.push_back({.slot = static_cast<int>(i), .offset = s_.offsets[i], .block = blocks_[root(block_of_[i])]});
      }
    }
    for (size_t i = 0; i < s_.regions.size(); ++i) {
      result.push_back(
          {.region = static_cast<int>(i), .offset = s_.regions[i].offset, .block = blocks_[first_window_ + i]});
    }
    for (size_t i = 0; i < program_.steps.size(); ++i) {
      if (!bodies_of(program_.steps[i]).empty()) {
        const int at = time(static_cast<int>(i));
        result.push_back({.step = static_cast<int>(i),
                          .offset = s_.bodies_offset,
                          .block = {control_bytes(program_, plan_, s_), at, at}});
      }
    }
    std::erase_if(result, [](const ArenaBlock& each) { return each.block.bytes == 0; });
    return result;
  }

 private:
  int time(int step) const { return times_.empty() ? step : times_[static_cast<size_t>(step)]; }
  bool is_crowded(int time) const { return !times_.empty() && crowded_[static_cast<size_t>(time)]; }

  /// Where waves change the order, the first and last steps of a slot are not its first and last times.
  void find_lifetimes() {
    lifetimes_.assign(plan_.slots.size(), {.first = INT32_MAX, .last = -1});
    for (size_t step = 0; step < program_.steps.size(); ++step) {
      const auto use = [&](int slot) {
        Block& life = lifetimes_[static_cast<size_t>(slot)];
        life.first = std::min(life.first, times_[step]);
        life.last = std::max(life.last, times_[step]);
      };
      std::ranges::for_each(program_.steps[step].reads, use);
      std::ranges::for_each(program_.steps[step].writes, use);
    }
    for (size_t i = program_.buffers.size(); i < plan_.slots.size(); ++i) {
      lifetimes_[i].first = lifetimes_[i].last = time(plan_.slots[i].first);
    }
  }

  /// Of what is inside of regions there are windows alone.
  void find_windows() {
    has_window_.assign(s_.regions.empty() ? 0 : plan_.slots.size(), false);
    for (const TiledRegion& region : s_.regions) {
      for (const RegionBuffer& buffer : region.buffers) {
        has_window_[static_cast<size_t>(buffer.slot)] = buffer.inside;
      }
    }
  }

  void add_windows() {
    first_window_ = blocks_.size();
    for (const TiledRegion& region : s_.regions) {
      const int at = time(region.first_step);
      blocks_.push_back({region.window_bytes * region.workers, at, at});
      s_.memory.intermediate_bytes += blocks_.back().bytes;
    }
  }

  void add_slot(size_t i) {
    const Slot& slot = plan_.slots[i];
    const int64_t elements = s_.value(slot.elements);
    if (elements < 0) {
      resolve(plan_.extents[static_cast<size_t>(slot.elements)], s_.bindings);  // says so
    }
    if (elements > kSurelyThere) {
      Array::require_memory(slot.dtype, {elements});
    }
    const int64_t bytes = s_.bytes(slot);
    if (!has_window_.empty() && has_window_[i]) {
      return;
    }
    if (slot.memory == Memory::intermediate && slot.first >= 0) {
      block_of_[i] = static_cast<int>(blocks_.size());
      blocks_.push_back(times_.empty() ? Block{bytes, slot.first, slot.last}
                                       : Block{bytes, lifetimes_[i].first, lifetimes_[i].last});
      s_.memory.intermediate_bytes += bytes;
    } else if (slot.memory == Memory::output || (slot.memory == Memory::input && slot.written)) {
      s_.memory.output_bytes += bytes;  // of state that is not given, a copy is made
    }
  }

  /// In the order of buffers, which need not be that of steps: a chain is followed to the block that is kept.
  void take_over(size_t i) {
    const int from = plan_.slots[i].in_place;
    if (from < 0 || block_of_[i] < 0 || block_of_[static_cast<size_t>(from)] < 0) {
      return;
    }
    Block& mine = blocks_[root(block_of_[i])];
    Block& old = blocks_[root(block_of_[static_cast<size_t>(from)])];
    // Another step of the same wave may read what the step that makes this one is the last to read.
    if (&mine == &old || mine.bytes != old.bytes || old.last != mine.first || is_crowded(mine.first)) {
      return;
    }
    old.last = mine.last;
    mine.bytes = 0;
    mine.first = ~static_cast<int>(&old - blocks_.data());  // taken over by
  }

  /// The block that took over, and what took that over.
  size_t root(int block) const {
    while (blocks_[static_cast<size_t>(block)].first < 0) {
      block = ~blocks_[static_cast<size_t>(block)].first;
    }
    return static_cast<size_t>(block);
  }

  void place_blocks() {
    std::vector<int64_t> offsets(blocks_.size());
    try {
      const Arena arena = place(blocks_, offsets);
      s_.memory.arena_bytes = arena.bytes;
      s_.memory.live_bytes = arena.live;
      add_bodies();
      const auto all = checked_add(s_.memory.arena_bytes, s_.memory.output_bytes).value_or(INT64_MAX);
      if (all > kSurelyThere) {
        Array::require_memory(Dtype::u8, {all});
      }
    } catch (Error& error) {
      error.note(
          fmt::format("for the intermediates and outputs of `{}` at {}", program_.name, s_.bindings.to_string()));
      throw;
    }
    s_.offsets.resize(plan_.slots.size());
    for (size_t i = 0; i < plan_.slots.size(); ++i) {
      s_.offsets[i] = block_of_[i] < 0 ? 0 : offsets[root(block_of_[i])];
    }
    for (size_t i = 0; i < s_.regions.size(); ++i) {
      s_.regions[i].offset = offsets[first_window_ + i];
    }
  }

  /// Behind the intermediates, for whichever control step runs.
  void add_bodies() {
    const int64_t bytes = control_bytes(program_, plan_, s_);
    if (bytes == 0) {
      return;
    }
    s_.bodies_offset = aligned(s_.memory.arena_bytes);
    s_.memory.arena_bytes = checked_add(s_.bodies_offset, bytes).value_or(INT64_MAX);
    s_.memory.live_bytes += bytes;
    s_.memory.intermediate_bytes += bytes;
  }

  const Program& program_;
  const Plan& plan_;
  Specialization& s_;
  std::vector<int> times_;        // of steps; empty: their own numbers
  std::vector<bool> crowded_;     // of times: several steps at once
  std::vector<Block> lifetimes_;  // of slots, in times; their bytes are not used
  std::vector<bool> has_window_;  // of slots; empty: none has
  size_t first_window_ = 0;       // of blocks: those of regions
  std::vector<int> block_of_;     // of slots; -1: none
  std::vector<Block> blocks_;
};

}  // namespace

void lay_out(const Program& program, const Plan& plan, const Waves& waves, Specialization& s) {
  Layout(program, plan, waves, s).run();
}

std::vector<ArenaBlock> arena_blocks(const Program& program, const Plan& plan, const Waves& waves, Specialization& s) {
  s.memory = {};
  Layout layout(program, plan, waves, s);
  layout.run();
  return layout.blocks();
}

}  // namespace tenon::runtime
