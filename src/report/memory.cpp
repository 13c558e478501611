#include "report/memory.h"

#include <fmt/format.h>

#include <cstdint>
#include <string_view>
#include <utility>

#include "report/units.h"
#include "runtime/memory/arena.h"
#include "tenon/error.h"

namespace tenon::report {
namespace {

std::string_view name_of(MemoryUse use) {
  return use == MemoryUse::value ? "value" : use == MemoryUse::window ? "window" : "bodies";
}

Json steps_of(const MemoryMoment& moment) {
  Json steps = Json::array();
  for (const int step : moment.steps) {
    steps.push(step + 1);
  }
  return steps;
}

}  // namespace

MemoryAtSizes memory_at_sizes(const Executable& executable, const Bindings& bindings) {
  MemoryAtSizes result{.title = executable.name(),
                       .bindings = bindings,
                       .timeline = memory_timeline(executable, bindings),
                       .others = {}};
  for (const auto& [name, size] : bindings) {
    for (const int64_t other : {size / 2, 2 * size, 4 * size}) {
      if (other == 0 || size > INT32_MAX) {
        continue;
      }
      Bindings changed;
      for (const auto& [each, now] : bindings) {
        changed.set(each, each == name ? other : now);
      }
      OtherSize at{.axis = name, .size = other, .memory = std::nullopt};
      try {
        at.memory = executable.memory(changed);
      } catch (const Error&) {  // NOLINT(bugprone-empty-catch): a constraint, or no memory for it
      }
      result.others.push_back(std::move(at));
    }
  }
  return result;
}

std::string arena_beyond_peak(const MemoryTimeline& timeline) {
  const int64_t arena = timeline.memory.arena_bytes;
  if (timeline.blocks.empty() || arena <= timeline.moments[timeline.peak()].live_bytes) {
    return "";
  }
  int64_t rounded = 0;
  for (const MemoryBlock& block : timeline.at(timeline.peak())) {
    rounded += runtime::aligned(block.bytes);
  }
  return fmt::format("the arena takes {}: each value begins at a multiple of {} bytes{}", bytes_text(arena),
                     runtime::kArenaAlignment, arena > rounded ? ", and gaps are left between values" : "");
}

Json memory_json(const MemoryAtSizes& memory) {
  const MemoryTimeline& timeline = memory.timeline;
  Json json = Json::object();
  json.set("model", memory.title).set("bindings", memory.bindings.to_string());
  json.set("arena_bytes", timeline.memory.arena_bytes).set("live_bytes", timeline.memory.live_bytes);
  json.set("intermediate_bytes", timeline.memory.intermediate_bytes);
  json.set("untiled_arena_bytes", timeline.untiled_arena_bytes).set("output_bytes", timeline.memory.output_bytes);
  json.set("constant_bytes", timeline.constant_bytes).set("code_bytes", timeline.code_bytes);
  if (!timeline.blocks.empty()) {
    json.set("arena_beyond_peak", arena_beyond_peak(timeline));
    json.set("peak_moment", timeline.peak()).set("peak_size", timeline.peak_size().to_string());
  }
  Json moments = Json::array();
  for (const MemoryMoment& moment : timeline.moments) {
    moments.push(Json::object().set("steps", steps_of(moment)).set("live_bytes", moment.live_bytes));
  }
  Json blocks = Json::array();
  for (const MemoryBlock& block : timeline.blocks) {
    Json each = Json::object().set("use", name_of(block.use)).set("offset", block.offset).set("bytes", block.bytes);
    each.set("size", block.size.to_string()).set("first_moment", block.first_moment);
    each.set("last_moment", block.last_moment).set("made_by", block.made_by + 1);
    blocks.push(each.set("last_use", block.last_use + 1));
  }
  Json others = Json::array();
  for (const OtherSize& other : memory.others) {
    Json each = Json::object().set("axis", other.axis).set("size", other.size);
    others.push(each.set("arena_bytes", other.memory ? Json(other.memory->arena_bytes) : Json()));
  }
  return json.set("moments", moments).set("blocks", blocks).set("other_sizes", others);
}

}  // namespace tenon::report
