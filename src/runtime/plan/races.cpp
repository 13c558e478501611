#include <algorithm>

#include "base/fail.h"
#include "runtime/plan/layout.h"

namespace tenon::runtime {
namespace {

/// Bytes of the arena, or all of one other buffer.
struct Touch {
  int step = 0;
  bool writes = false;
  int64_t begin = 0;
  int64_t end = 0;
};

class Races {
 public:
  Races(const Program& program, const Plan& plan, const Specialization& s) : program_(program), plan_(plan), s_(s) {}

  void check(const Stage& stage) {
    touches_.clear();
    steps_.clear();
    for (uint32_t l = stage.launches.first; l < stage.launches.end(); ++l) {
      const Span& ranges = s_.launches[l].ranges;
      for (uint32_t r = ranges.first; r < ranges.end(); ++r) {
        const int step = plan_.parts[static_cast<size_t>(s_.ranges[r].part)].step;
        if (std::ranges::find(steps_, step) == steps_.end()) {
          add(step);
        }
      }
    }
    for (const Touch& a : touches_) {
      for (const Touch& b : touches_) {
        TENON_CHECK(a.step == b.step || !a.writes || a.end <= b.begin || b.end <= a.begin,
                    "steps {} and {} of `{}` run side by side, and one writes what the other uses", a.step + 1,
                    b.step + 1, program_.name);
      }
    }
  }

 private:
  void add(int step) {
    steps_.push_back(step);
    const Step& declared = program_.steps[static_cast<size_t>(step)];
    for (const int slot : declared.reads) {
      touch(step, static_cast<size_t>(slot), false);
    }
    for (const int slot : declared.writes) {
      touch(step, static_cast<size_t>(slot), true);
      const Slot& made = plan_.slots[static_cast<size_t>(slot)];
      if (made.memory == Memory::output && made.in_place >= 0) {
        touch(step, static_cast<size_t>(made.in_place), true);
      }
    }
    for (size_t slot = program_.buffers.size(); slot < plan_.slots.size(); ++slot) {
      if (plan_.slots[slot].first == step) {
        touch(step, slot, true);
      }
    }
  }

  /// What lies outside the arena gets places of its own behind it.
  void touch(int step, size_t slot, bool writes) {
    const bool inside = plan_.slots[slot].memory == Memory::intermediate;
    const int64_t begin = inside ? s_.offsets[slot] : s_.memory.arena_bytes + static_cast<int64_t>(slot);
    touches_.push_back(
        {.step = step, .writes = writes, .begin = begin, .end = begin + (inside ? s_.bytes(plan_.slots[slot]) : 1)});
  }

  const Program& program_;
  const Plan& plan_;
  const Specialization& s_;
  std::vector<Touch> touches_;
  std::vector<int> steps_;
};

}  // namespace

void check_races(const Program& program, const Plan& plan, const Specialization& s) {
  Races races(program, plan, s);
  for (const Stage& stage : s.stages) {
    if (stage.step < 0 && stage.region < 0) {
      races.check(stage);
    }
  }
}

}  // namespace tenon::runtime
