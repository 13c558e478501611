#include "schedule/regions/regions.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenon/assumptions.h"

namespace tenon::schedule {
namespace {

using loops::BufferUse;
using loops::Footprint;
using loops::KernelFacts;
using loops::PhaseFacts;
using loops::Touched;

bool is_never_negative(const Extent& extent) {
  const auto known = extent.constant();
  return known ? *known >= 0 : proves_at_least(extent, 0);
}

/// Rows go up through a buffer.
bool goes_up(const Footprint& footprint) {
  return std::ranges::all_of(footprint.ranges, [](const Touched& range) {
    return is_never_negative(range.step) && is_never_negative(range.item_step);
  });
}

/// Every row touches the same elements.
bool stands_still(const Footprint& footprint) {
  return std::ranges::all_of(
      footprint.ranges, [](const Touched& range) { return range.step == Extent(0) && range.item_step == Extent(0); });
}

bool contains(const std::vector<int>& list, int item) { return std::ranges::find(list, item) != list.end(); }

class RegionFinder {
 public:
  explicit RegionFinder(Program& program) : program_(program) {}

  void run() {
    Region region{.first = 0, .count = 0};
    for (int at = 0; at < std::ssize(program_.steps); ++at) {
      std::string reason = why_not_alone(step(at));
      if (region.count > 0) {
        if (reason.empty()) {
          reason = why_not_after(region, at);
        }
        step(at - 1).region_end = reason;
        if (reason.empty()) {
          ++region.count;
          continue;
        }
        add(region);
        reason = why_not_alone(step(at));
      }
      region = {.first = at, .count = reason.empty() ? 1 : 0};
      if (!reason.empty()) {
        step(at).region_end = reason;
      }
    }
    add(region);
    if (!program_.steps.empty() && program_.steps.back().region_end.empty()) {
      program_.steps.back().region_end = "it is the last step";
    }
  }

 private:
  Step& step(int at) { return program_.steps[static_cast<size_t>(at)]; }
  const KernelFacts& facts(const LaunchPart& part) const { return program_.facts[static_cast<size_t>(part.kernel)]; }
  const ProgramBuffer& buffer(int at) const { return program_.buffers[static_cast<size_t>(at)]; }

  void add(const Region& region) {
    if (region.count > 1) {
      program_.regions.push_back(region);
    }
  }

  /// Why no range of rows of this step can be run apart from its other rows; nothing where it can.
  std::string why_not_alone(const Step& step) const {
    if (std::holds_alternative<RoutineStep>(step.what)) {
      return fmt::format("`{}` is a routine that is no loop over rows", step.label);
    }
    if (std::holds_alternative<ControlStep>(step.what)) {
      return fmt::format("`{}` runs bodies of its own", step.label);
    }
    for (const LaunchPart& part : parts_of(step)) {
      const KernelFacts& kernel = facts(part);
      if (kernel.phases.size() != 1) {
        return fmt::format("`{}` has {} phases, each of which needs all of the one before", step.label,
                           kernel.phases.size());
      }
      const PhaseFacts& phase = kernel.phases.front();
      if (phase.items * phase.rows == Extent(1)) {
        return fmt::format("`{}` has a single row", step.label);
      }
      for (size_t i = 0; i < part.buffers.size(); ++i) {
        const BufferUse& use = phase.buffers[i];
        if (use.writes.whole || !goes_up(use.writes)) {
          return fmt::format("`{}` writes its rows in no known order", step.label);
        }
        if (!use.writes.empty() && !use.reads.empty()) {
          return fmt::format("`{}` reads what it writes", step.label);
        }
      }
    }
    for (const int written : step.writes) {
      if (buffer(written).memory == Memory::input || contains(step.reads, written)) {
        return fmt::format("`{}` updates an array in place", step.label);
      }
    }
    return "";
  }

  /// Why a step does not go on with a region whose steps end right before it.
  std::string why_not_after(const Region& region, int at) {
    bool is_connected = false;
    const Step& next = step(at);
    for (int before = region.first; before < at; ++before) {
      for (const int written : step(before).writes) {
        if (contains(next.writes, written)) {
          is_connected |= buffer(written).memory == Memory::intermediate;
        }
        if (!contains(next.reads, written)) {
          continue;
        }
        is_connected = true;
        const std::string reason = why_not_read(next, written, step(before));
        if (!reason.empty()) {
          return reason;
        }
      }
      for (const int read : step(before).reads) {
        is_connected |= buffer(read).memory != Memory::constant && contains(next.reads, read);
        if (contains(next.writes, read)) {
          return fmt::format("`{}` overwrites what `{}` reads", next.label, step(before).label);
        }
      }
    }
    return is_connected ? "" : fmt::format("`{}` reads nothing that those before it read or write", next.label);
  }

  std::string why_not_read(const Step& reader, int read, const Step& writer) const {
    for (const LaunchPart& part : parts_of(reader)) {
      for (size_t i = 0; i < part.buffers.size(); ++i) {
        if (part.buffers[i] != read) {
          continue;
        }
        const Footprint& reads = facts(part).phases.front().buffers[i].reads;
        if (reads.whole) {
          return fmt::format("what a row of `{}` reads of `{}` is no range that is known ahead", reader.label,
                             writer.label);
        }
        if (!goes_up(reads)) {
          return fmt::format("`{}` goes through `{}` in another order", reader.label, writer.label);
        }
        if (!reads.empty() && stands_still(reads)) {
          return fmt::format("every row of `{}` reads all of `{}`", reader.label, writer.label);
        }
      }
    }
    return "";
  }

  Program& program_;
};

}  // namespace

void find_regions(Program& program) { RegionFinder(program).run(); }

}  // namespace tenon::schedule
