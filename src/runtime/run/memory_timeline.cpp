// What is said of the memory of runs.
#include "tenon/memory_timeline.h"

#include <algorithm>
#include <set>

#include "runtime/plan/layout.h"
#include "runtime/plan/tile_regions.h"
#include "runtime/run/engine.h"
#include "runtime/run/segmented.h"

namespace tenon::runtime {
namespace {

/// Of a program and its bodies; what they share counts once.
int64_t constant_bytes(const Program& program, std::set<const void*>& seen) {
  int64_t bytes = 0;
  for (const Array& constant : program.constants) {
    if (seen.insert(constant.data()).second) {
      bytes += static_cast<int64_t>(constant.byte_count());
    }
  }
  for (const Step& step : program.steps) {
    for (const Program& body : bodies_of(step)) {
      bytes += constant_bytes(body, seen);
    }
  }
  return bytes;
}

class Timeline {
 public:
  Timeline(const Program& program, const Plan& plan, int threads, const Specialization& s)
      : program_(program), plan_(plan), threads_(threads), s_(s) {}

  MemoryTimeline run() {
    MemoryTimeline result;
    result.memory = s_.memory;
    Specialization copy = s_;
    const Waves waves = order_steps(plan_, threads_, copy);
    add_moments(waves, result);
    for (const ArenaBlock& block : arena_blocks(program_, plan_, waves, copy)) {
      result.blocks.push_back(describe(block));
    }
    for (MemoryBlock& block : result.blocks) {
      block.last_use = result.moments[static_cast<size_t>(block.last_moment)].steps.back();
      for (int i = block.first_moment; i <= block.last_moment; ++i) {
        result.moments[static_cast<size_t>(i)].live_bytes += block.bytes;
      }
    }
    std::set<const void*> seen;
    result.constant_bytes = constant_bytes(program_, seen);
    result.untiled_arena_bytes = untiled_arena_bytes();
    return result;
  }

 private:
  void add_moments(const Waves& waves, MemoryTimeline& result) const {
    for (size_t i = 0; i < (waves.size() == 0 ? plan_.steps.size() : waves.size()); ++i) {
      MemoryMoment& moment = result.moments.emplace_back();
      if (waves.size() == 0) {
        moment.steps.push_back(static_cast<int>(i));
      } else {
        moment.steps.assign(waves.wave(i).begin(), waves.wave(i).end());
      }
    }
  }

  MemoryBlock describe(const ArenaBlock& from) const {
    MemoryBlock block{.offset = from.offset,
                      .bytes = from.block.bytes,
                      .size = from.block.bytes,
                      .first_moment = from.block.first,
                      .last_moment = from.block.last};
    if (from.slot >= 0) {
      const Slot& slot = plan_.slots[static_cast<size_t>(from.slot)];
      block.size = plan_.extents[static_cast<size_t>(slot.elements)] * static_cast<int64_t>(byte_size(slot.dtype));
      block.made_by = slot.first;
    } else if (from.region >= 0) {
      block.use = MemoryUse::window;
      block.made_by = s_.regions[static_cast<size_t>(from.region)].first_step;
    } else {
      block.use = MemoryUse::bodies;
      block.made_by = from.step;
    }
    return block;
  }

  /// Every step whole, in the order that they have then.
  int64_t untiled_arena_bytes() const {
    Specialization whole = s_;
    whole.regions.clear();
    arena_blocks(program_, plan_, order_steps(plan_, threads_, whole), whole);
    return whole.memory.arena_bytes;
  }

  const Program& program_;
  const Plan& plan_;
  const int threads_;
  const Specialization& s_;
};

}  // namespace

MemoryTimeline Engine::memory_timeline(const Bindings& bindings) {
  MemoryTimeline result = Timeline(program_, plan_, threads(), *specialization(bindings)).run();
  result.code_bytes = options_.code_bytes;
  return result;
}

MemoryTimeline Segmented::memory_timeline(const Bindings& bindings) {
  const Ahead ahead = bind_all(bindings);
  MemoryTimeline all;
  int first_step = 0;
  for (size_t i = 0; i < parts_.size(); ++i) {
    MemoryTimeline one = parts_[i].engine->memory_timeline(ahead.before[i]);
    const int first_moment = static_cast<int>(all.moments.size());
    for (MemoryMoment& moment : one.moments) {
      std::ranges::for_each(moment.steps, [&](int& step) { step += first_step; });
      all.moments.push_back(std::move(moment));
    }
    for (MemoryBlock& block : one.blocks) {
      block.made_by += first_step;
      block.last_use += first_step;
      block.first_moment += first_moment;
      block.last_moment += first_moment;
      all.blocks.push_back(std::move(block));
    }
    all.untiled_arena_bytes += one.untiled_arena_bytes;
    all.constant_bytes += one.constant_bytes;
    all.code_bytes = one.code_bytes;  // which all share
    first_step += static_cast<int>(parts_[i].engine->steps().size());
  }
  all.memory = memory(bindings);
  return all;
}

}  // namespace tenon::runtime

namespace tenon {

size_t MemoryTimeline::peak() const {
  const auto most = std::ranges::max_element(moments, {}, &MemoryMoment::live_bytes);
  return most == moments.end() ? 0 : static_cast<size_t>(most - moments.begin());
}

std::vector<MemoryBlock> MemoryTimeline::at(size_t moment) const {
  std::vector<MemoryBlock> result;
  const int when = static_cast<int>(moment);
  std::ranges::copy_if(blocks, std::back_inserter(result), [&](const MemoryBlock& block) {
    return block.first_moment <= when && when <= block.last_moment;
  });
  std::ranges::stable_sort(result, std::ranges::greater(), &MemoryBlock::bytes);
  return result;
}

Extent MemoryTimeline::peak_size() const {
  Extent size = 0;
  for (const MemoryBlock& block : at(peak())) {
    size = size + block.size;
  }
  return size;
}

MemoryTimeline memory_timeline(const Executable& executable, const Bindings& bindings) {
  return runtime::Runnable::of(executable).memory_timeline(bindings);
}

}  // namespace tenon
