// Tiles that were chosen for rounded sizes, at the sizes themselves.
#include "runtime/plan/tile_choices.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/pool.h"
#include "compiler/lowered.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/specialization.h"
#include "runtime/tiles/choose_tiles.h"
#include "support/machines.h"
#include "support/random_network.h"
#include "tenon/tenon.h"

namespace tenon::tile_choices_test {
namespace {

/// Batches of three images.
Bindings sizes_of(const Graph& graph, int64_t size) {
  Bindings sizes;
  for (const Axis& axis : graph.inputs()[0].shape().axes()) {
    if (const std::string name = axis.name(); !name.empty()) {
      sizes.set(name, name == "batch" ? 3 : size);
    }
  }
  return sizes;
}

TEST(TileChoices, RoundSizesToPowersOfTwo) {
  EXPECT_EQ(runtime::round_sizes({{"a", 0}, {"b", 1}, {"c", 3}, {"d", 64}, {"e", 65}}),
            Bindings({{"a", 0}, {"b", 1}, {"c", 4}, {"d", 64}, {"e", 128}}));
}

/// How many regions of random networks there are at some sizes, how many have windows for all of their tiles, and how
/// many do when windows are exact.
struct Fit {
  int regions = 0;
  int sound = 0;
  int exact = 0;
};
Fit fit_on(int cores) {
  Fit fit;
  const Machine machine = machine_of(int64_t{1} << 20, cores);
  for (uint64_t seed = 0; seed < 16; ++seed) {
    const Graph graph = random_network(seed);
    CompileReport report;
    const compiler::Lowered lowered =
        compiler::lower(graph, {.native = false, .machine = machine, .pipeline_rows = 2}, report);
    const Program& program = lowered.segments.front().program;
    const runtime::Plan plan = runtime::make_plan(program);
    runtime::TileChoices tiles;
    for (const int64_t size : {5, 17, 20, 33, 50, 64}) {
      const Bindings sizes = sizes_of(graph, size);
      for (const runtime::TiledRegion& region : runtime::specialize(program, plan, sizes, cores, tiles).regions) {
        ++fit.regions;
        fit.sound += runtime::verify_tiles(region) ? 1 : 0;
      }
      for (const runtime::TiledRegion& region :
           runtime::specialize(program, plan, sizes, cores, tiles, runtime::Tiling::exact).regions) {
        fit.exact += runtime::verify_tiles(region) ? 1 : 0;
      }
    }
  }
  return fit;
}

TEST(TileChoices, FitTheSizesThatRoundToTheirs) {
  for (const int cores : {2, 16}) {
    const Fit fit = fit_on(cores);
    EXPECT_GT(fit.regions, 50);
    EXPECT_GT(fit.sound, fit.regions * 3 / 4) << cores << " cores";  // others run step by step once, then exactly
    EXPECT_EQ(fit.exact, fit.regions) << cores << " cores";
  }
}

TEST(TileChoices, AreLeftOutWhereTheyAreNotKnown) {
  const Graph graph = random_network(3);
  CompileReport report;
  const compiler::Lowered lowered = compiler::lower(graph, {.native = false, .pipeline_rows = 2}, report);
  const Program& program = lowered.segments.front().program;
  const runtime::Plan plan = runtime::make_plan(program);
  runtime::TileChoices tiles;
  const auto at = [&](int64_t size, runtime::Tiling tiling) {
    return runtime::specialize(program, plan, sizes_of(graph, size), 2, tiles, tiling);
  };
  const runtime::Specialization first = at(33, runtime::Tiling::known);
  EXPECT_TRUE(first.lacks_choices);
  EXPECT_EQ(first.regions.size(), 0);
  EXPECT_GT(at(64, runtime::Tiling::chosen).regions.size(), 0);
  const runtime::Specialization again = at(33, runtime::Tiling::known);
  EXPECT_FALSE(again.lacks_choices);
  EXPECT_GT(again.regions.size(), 0);
  EXPECT_TRUE(at(65, runtime::Tiling::known).lacks_choices);
}

/// A program on two threads whose intermediates leave their caches, with little to compute.
struct Streaming {
  Pool pool = Pool(2);
  Executable executable = make(pool);
  Bindings sizes = {{"h", 500}};
  std::vector<Array> inputs = {Array::full(f32, {1, 8, 500, 500}, 0.5)};

  static Executable make(Pool& pool) {
    const Value x = input("x", shape(f32, 1, 8, "h", 500));
    const Value w = constant(Array::full(f32, {8, 1, 3, 3}, 0.1));
    const ConvOptions same{.low = {1, 1}, .high = {1, 1}, .groups = 8};
    const Machine machine = machine_of(int64_t{512} << 10, 2);
    CompileReport report;
    const Graph graph({x}, {{"y", conv(conv(conv(x, w, same), w, same), w, same)}});
    return compiler::compile(compiler::lower(graph, {.machine = machine}, report), {}, report,
                             {.device = backend::backend_for(machine, true).device(pool, false)});
  }
};

TEST(TileChoices, ComeAfterTheFirstRun) {
  const Streaming program;
  const Array first = program.executable.run(program.inputs)[0];
  EXPECT_EQ(program.executable.counters().tiles, 0);
  program.executable.specialize(program.sizes);
  const Array later = program.executable.run(program.inputs)[0];
  EXPECT_GT(program.executable.counters().tiles, 0);
  EXPECT_EQ(program.executable.counters().specializations, 1);
  EXPECT_TRUE(same_bits(first, later));
}

TEST(TileChoices, AreMadeBesideTheRuns) {
  const Streaming program;
  for (int i = 0; i < 1'000 && program.executable.counters().tiles == 0; ++i) {
    (void)program.executable.run(program.inputs);
  }
  EXPECT_GT(program.executable.counters().tiles, 0);
}

TEST(TileChoices, AreMadeBeforeReportsOfThem) {
  const Streaming program;
  (void)program.executable.run(program.inputs);
  EXPECT_TRUE(std::ranges::any_of(program.executable.pipelines(program.sizes), &PipelineReport::tiled));
  (void)program.executable.run(program.inputs);
  EXPECT_GT(program.executable.counters().tiles, 0);
}

TEST(TileChoices, DoNotDependOnWhatCameBefore) {
  const Graph graph = random_network(3);
  const Executable up = compile(graph, {.native = false, .pipeline_rows = 2});
  const Executable down = compile(graph, {.native = false, .pipeline_rows = 2});
  const std::vector<int64_t> all = {20, 25, 31, 40, 60};
  std::vector<int64_t> bytes;
  for (const int64_t size : all) {
    bytes.push_back(up.memory(sizes_of(graph, size)).arena_bytes);
  }
  for (size_t i = all.size(); i-- > 0;) {
    EXPECT_EQ(down.memory(sizes_of(graph, all[i])).arena_bytes, bytes[i]);
  }
}

}  // namespace
}  // namespace tenon::tile_choices_test
