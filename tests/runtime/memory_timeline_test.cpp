// Where memory goes: blocks that do not overlap, and sums that are those of the memory report.
#include "tenon/memory_timeline.h"

#include <algorithm>

#include "support/arrays.h"
#include "tenon/compile.h"
#include "tenon/models.h"
#include "tenon/text.h"

namespace tenon::memory_timeline_test {
namespace {

void expect_sound(const MemoryTimeline& timeline, const Bindings& bindings) {
  for (size_t i = 0; i < timeline.blocks.size(); ++i) {
    const MemoryBlock& a = timeline.blocks[i];
    EXPECT_GT(a.bytes, 0);
    EXPECT_LE(a.first_moment, a.last_moment);
    EXPECT_LT(a.last_moment, std::ssize(timeline.moments));
    EXPECT_LE(a.offset + a.bytes, timeline.memory.arena_bytes);
    EXPECT_EQ(evaluate(a.size, bindings), a.bytes);
    for (size_t k = 0; k < i; ++k) {
      const MemoryBlock& b = timeline.blocks[k];
      const bool together = a.first_moment <= b.last_moment && b.first_moment <= a.last_moment;
      EXPECT_TRUE(!together || a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset) << i << " and " << k;
    }
  }
  if (!timeline.blocks.empty()) {
    EXPECT_EQ(timeline.moments[timeline.peak()].live_bytes, timeline.memory.live_bytes);
    EXPECT_EQ(evaluate(timeline.peak_size(), bindings), timeline.memory.live_bytes);
  }
}

TEST(MemoryTimeline, OfAChainHasTwoValuesAtOnce) {
  const Graph graph = parse_graph(
      "graph chain(x: f32[row, 100]) {\n  a = cumulative_sum(x, axis=0)\n  b = cumulative_sum(a, axis=0)\n"
      "  c = cumulative_sum(b, axis=0)\n  return y=cumulative_sum(c, axis=0)\n}\n");
  const Executable executable = compile(graph, {.native = false});
  for (const int64_t row : {1, 7, 100}) {
    const Bindings bindings{{"row", row}};
    const MemoryTimeline timeline = memory_timeline(executable, bindings);
    expect_sound(timeline, bindings);
    EXPECT_EQ(timeline.blocks.size(), 3U);
    EXPECT_EQ(timeline.memory.live_bytes, 2 * 400 * row);
    EXPECT_EQ(timeline.peak_size().to_string(), "800*row");
    EXPECT_EQ(timeline.memory.arena_bytes, executable.memory(bindings).arena_bytes);
  }
  EXPECT_TRUE(memory_timeline(executable, {{"row", 0}}).blocks.empty());
}

TEST(MemoryTimeline, OfModelsAddsUpWithTilesAndWithout) {
  for (const std::string_view name : {"mobilenet_v2", "lstm_lm", "unet"}) {
    const auto model = std::ranges::find(model_table(), name, &ModelEntry::name);
    ASSERT_NE(model, model_table().end()) << name;
    const Bindings bindings = Bindings::parse(model->typical);
    const Executable executable = compile(model->build().graph, {.native = false});
    SCOPED_TRACE(name);
    const MemoryTimeline timeline = memory_timeline(executable, bindings);
    expect_sound(timeline, bindings);
    const Executable whole = compile(model->build().graph, {.native = false, .pipelines = false});
    EXPECT_EQ(timeline.untiled_arena_bytes, whole.memory(bindings).arena_bytes);
  }
}

}  // namespace
}  // namespace tenon::memory_timeline_test
