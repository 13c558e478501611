// Programs whose steps run tile by tile, against the same programs step by step: the same bits.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <thread>

#include "base/pool.h"
#include "compiler/lowered.h"
#include "support/arrays.h"
#include "support/machines.h"
#include "support/random_graph.h"
#include "support/random_network.h"
#include "support/small_graph.h"
#include "tenon/tenon.h"

namespace tenon::pipelines_test {
namespace {

/// Everything is shared out and cut into tiles of so many rows, however small it is; 0: not in tiles.
CompileOptions in_tiles(int64_t rows, bool native = true) {
  return {.native = native, .least_shared_work = 0, .pipelines = rows > 0, .pipeline_rows = rows};
}

int tiled_steps(const Executable& executable, const Bindings& bindings) {
  int steps = 0;
  for (const PipelineReport& report : executable.pipelines(bindings)) {
    steps += report.tiled ? report.steps : 0;
  }
  return steps;
}

std::string reasons(const Executable& executable, const Bindings& bindings) {
  std::string text;
  for (const PipelineReport& report : executable.pipelines(bindings)) {
    text += std::to_string(report.first_step + 1) + ": " + report.reason + "\n";
  }
  return text;
}

struct Outcome {
  std::vector<Array> outputs = {};
  std::string error = {};
};

Outcome run(const Executable& executable, const std::vector<Array>& inputs, const Bindings& bindings, int threads) {
  try {
    return {.outputs = executable.run(inputs, {.threads = threads, .bindings = bindings})};
  } catch (const Error& error) {
    return {.error = error.what()};
  }
}

/// Returns how many steps ran in tiles.
int expect_same_bits(const Graph& graph, const std::vector<Bindings>& bindings, bool native,
                     const std::function<std::vector<Array>(const Bindings&)>& inputs_at) {
  const Executable whole = compile(graph, in_tiles(0, native));
  int tiled = 0;
  for (const int64_t rows : {int64_t{1}, int64_t{2}, int64_t{5}, int64_t{1000}}) {
    const Executable tiles = compile(graph, in_tiles(rows, native));
    for (const Bindings& at : bindings) {
      const std::vector<Array> inputs = inputs_at(at);
      const Outcome expected = run(whole, inputs, at, 1);
      for (const int threads : {1, 2}) {
        const Outcome actual = run(tiles, inputs, at, threads);
        EXPECT_EQ(actual.error, expected.error);
        EXPECT_TRUE(std::ranges::equal(actual.outputs, expected.outputs, same_bits))
            << "tiles of " << rows << " rows, " << threads << " threads, at " << at.to_string() << "\n"
            << to_text(graph, {.max_constant_elements = 0}) << tiles.explain();
      }
      tiled += expected.error.empty() ? tiled_steps(tiles, at) : 0;
      if (testing::Test::HasFailure()) {
        return tiled;
      }
    }
  }
  return tiled;
}

int expect_same_network(uint64_t seed, bool native) {
  const Graph graph = random_network(seed);
  return expect_same_bits(graph, random_bindings(graph, seed, 4), native, [&](const Bindings& at) {
    return random_graph_inputs({.graph = graph, .tolerances = {}, .special = seed % 3 == 0}, at, seed);
  });
}

TEST(Pipelines, OfNetworksGiveTheSameBits) {
  int tiled = 0;
  for (uint64_t seed = 0; seed < 12 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    tiled += expect_same_network(seed, seed % 4 != 3);
  }
  EXPECT_GT(tiled, 200) << "steps ran tile by tile";
}

TEST(SlowPipelines, OfNetworksGiveTheSameBits) {
  for (uint64_t seed = 100; seed < 160 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    expect_same_network(seed, seed % 4 != 3);
  }
}

TEST(Pipelines, OfRandomGraphsGiveTheSameBits) {
  int tiled = 0;
  for (uint64_t seed = 0; seed < 60 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const RandomGraph random = random_graph(seed);
    tiled += expect_same_bits(random.graph, random_bindings(random.graph, seed, 3), seed % 2 == 0,
                              [&](const Bindings& at) { return random_graph_inputs(random, at, seed); });
  }
  EXPECT_GT(tiled, 50);
}

struct ChainCase {
  SmallGraph graph;
  Bindings at;
  int steps = 2;  // that run tile by tile
};
void PrintTo(const ChainCase& each, std::ostream* out) { *out << each.graph.name; }

class Chains : public testing::TestWithParam<ChainCase> {};

TEST_P(Chains, RunTileByTile) {
  const Graph graph = make(GetParam().graph);
  const Executable tiles = compile(graph, in_tiles(2));
  EXPECT_EQ(tiled_steps(tiles, GetParam().at), GetParam().steps) << tiles.explain();
  const RandomGraph random{.graph = graph, .tolerances = {}};
  expect_same_bits(graph, {GetParam().at}, true,
                   [&](const Bindings& at) { return random_graph_inputs(random, at, 1); });
}

const Bindings kImage = {{"b", 2}, {"h", 19}, {"v", 23}};

INSTANTIATE_TEST_SUITE_P(
    All, Chains,
    testing::Values(
        ChainCase{{"dense_dense_norm", "x: f32[m, 24], w: f32[24, 70], w2: f32[70, 24], w3: f32[24]",
                   "a = relu(matmul(x, w)); y = layer_norm(matmul(a, w2), w3, w3)"},
                  {{"m", 700}},
                  2},
        ChainCase{{"depthwise_pointwise",
                   "x: f32[b, 16, h, v], w0: f32[32, 16, 1, 1], w: f32[32, 1, 3, 3], "
                   "w2: f32[16, 32, 1, 1]",
                   "e = relu(conv(x, w0)); a = relu(conv(e, w, groups=32, low=[1, 1], high=[1, 1])); y = conv(a, w2)"},
                  kImage,
                  3},
        ChainCase{{"strides_and_dilation", "x: f32[b, 16, h, v], w: f32[16, 16, 3, 3], w2: f32[16, 1, 3, 3]",
                   "a = conv(x, w, stride=[2, 1], low=[1, 1], high=[1, 1]); "
                   "y = conv(a, w2, groups=16, w_dilation=[2, 2], low=[2, 2], high=[2, 2])"},
                  kImage,
                  2},
        ChainCase{{"winograd", "x: f32[b, 3, h, v], w0: f32[64, 3, 1, 1], w: f32[64, 64, 3, 3], w2: f32[5, 64, 1, 1]",
                   "a = conv(x, w0); c = relu(conv(a, w, low=[1, 1], high=[1, 1])); "
                   "d = relu(conv(c, w, low=[1, 1], high=[1, 1])); y = conv(d, w2)"},
                  kImage,
                  4},
        ChainCase{{"several_outputs", "x: f32[b, 16, h, v], w: f32[16, 16, 3, 3], w2: f32[16, 1, 3, 3]",
                   "a = relu(conv(x, w, low=[1, 1], high=[1, 1])); y2 = conv(a, w, low=[1, 1], high=[1, 1]); "
                   "y = conv(y2, w2, groups=16, low=[1, 1], high=[1, 1])"},
                  kImage,
                  3}));

/// An expansion, a depthwise convolution, a projection and a residual.
Graph inverted_residual() {
  return make(
      {"block", "x: f32[b, 16, h, v], w0: f32[32, 16, 1, 1], w: f32[32, 1, 3, 3], w2: f32[16, 32, 1, 1]",
       "e = relu(conv(x, w0)); a = relu(conv(e, w, groups=32, low=[1, 1], high=[1, 1])); y = add(conv(a, w2), x)"});
}

std::vector<Array> inputs_at(const Graph& graph, const Bindings& at, uint64_t seed = 1) {
  return random_graph_inputs({.graph = graph, .tolerances = {}}, at, seed);
}

/// For two threads of a machine with caches that are always the same: memory depends on both.
Executable compile_for_two(const Graph& graph, CompileOptions options) {
  static Pool pool(2);
  options.machine = machine_of(int64_t{1} << 20, 2);
  CompileReport report;
  return compiler::compile(compiler::lower(graph, options, report), {.native = options.native}, report,
                           {.device = backend::backend_for(options.machine, options.native).device(pool, false)});
}

TEST(Pipelines, KeepWindowsOfWhatIsBetweenTheSteps) {
  const Graph graph = inverted_residual();
  const Executable whole = compile_for_two(graph, in_tiles(0));
  const Executable tiles = compile_for_two(graph, in_tiles(4));
  const Bindings at = {{"b", 1}, {"h", 200}, {"v", 50}};
  EXPECT_LT(tiles.memory(at).arena_bytes, whole.memory(at).arena_bytes / 3);
}

TEST(Pipelines, OfWhatIsReadOutsideTooAreSharedByThreads) {
  // Longer than a region may be, and the last but one of the first region is read behind it.
  std::string chain = "a0 = conv(x, w, low=[1, 1], high=[1, 1])";
  for (int i = 1; i < 10; ++i) {
    chain += fmt::format("; a{} = relu(conv(a{}, w, low=[1, 1], high=[1, 1]))", i, i - 1);
  }
  const Graph graph = make({"chain", "x: f32[b, 16, h, v], w: f32[16, 16, 3, 3]", chain + "; y = add(a9, a6)"});
  const Bindings at = {{"b", 1}, {"h", 100}, {"v", 30}};
  const Executable tiles = compile(graph, in_tiles(4));
  const std::vector<PipelineReport> reports = tiles.pipelines(at);
  ASSERT_GE(reports.size(), 2) << tiles.explain();
  EXPECT_EQ(reports[0].steps, 8);
  EXPECT_EQ(reports[0].strips > 1, tiles.capabilities().threads > 1);
  expect_same_bits(graph, {at, {{"b", 2}, {"h", 7}, {"v", 3}}}, true,
                   [&](const Bindings& sizes) { return inputs_at(graph, sizes); });
}

TEST(Pipelines, TakeLessMemoryWhereTheyTakeNoLonger) {
  // Products of which weights do not stay in cache beside what is between them: there is no time to gain.
  const Graph graph =
      make({"dense", "x: f32[m, 256], w: f32[256, 1024], w2: f32[1024, 256]", "y = matmul(relu(matmul(x, w)), w2)"});
  const Executable tiles = compile_for_two(graph, {});
  const Bindings at = {{"m", 16384}};
  EXPECT_LT(tiles.memory(at).arena_bytes, compile_for_two(graph, {.pipelines = false}).memory(at).arena_bytes / 3)
      << reasons(tiles, at);
}

TEST(Pipelines, NeverTakeMoreMemory) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const Graph graph = random_network(seed);
    const Executable tiles = compile(graph, {.native = false});
    const Executable whole = compile(graph, {.native = false, .pipelines = false});
    for (const int64_t size : {1, 20, 60}) {
      Bindings at;
      for (const Axis& axis : graph.inputs()[0].shape().axes()) {
        if (const std::string name = axis.name(); !name.empty()) {
          at.set(name, name == "batch" ? 3 : size);
        }
      }
      EXPECT_LE(tiles.memory(at).live_bytes, whole.memory(at).live_bytes)
          << "seed " << seed << " at " << at.to_string() << "\n"
          << reasons(tiles, at);
    }
  }
}

TEST(Pipelines, AreWhereTheyPayAndNotElsewhere) {
  const Executable executable = compile(inverted_residual());
  EXPECT_EQ(tiled_steps(executable, {{"b", 1}, {"h", 8}, {"v", 8}}), 0);
  const Bindings large = {{"b", 64}, {"h", 224}, {"v", 224}};
  EXPECT_GT(tiled_steps(executable, large), 0) << reasons(executable, large);
  EXPECT_EQ(tiled_steps(compile(inverted_residual(), {.pipelines = false}), large), 0);
}

TEST(Pipelines, RefuseANegativeNumberOfRows) {
  EXPECT_THROW(compile(inverted_residual(), {.pipeline_rows = -5}), Error);
}

TEST(Pipelines, NumberTilesOnceInATrace) {
  const Graph graph = inverted_residual();
  const Bindings at = {{"b", 3}, {"h", 31}, {"v", 9}};
  const Executable tiles = compile(graph, in_tiles(2));
  Trace trace;
  tiles.run(inputs_at(graph, at), {.trace = &trace});
  std::map<std::pair<int, int64_t>, int> seen;
  for (const TraceEvent& event : trace.events()) {
    if (event.tile >= 0) {
      EXPECT_EQ(++seen[std::pair(event.step, event.tile)], 1) << event.step << " " << event.tile;
    }
  }
  EXPECT_FALSE(seen.empty());
}

TEST(Pipelines, CanBeCancelledAndRunAgain) {
  const Graph graph = inverted_residual();
  const Executable executable = compile(graph, in_tiles(1));
  const std::vector<Array> inputs = inputs_at(graph, kImage);
  const std::vector<Array> expected = executable.run(inputs);
  const auto used = [&] { return executable.counters().memory_bytes - executable.counters().idle_bytes; };
  const int64_t before = used();
  CancelToken token;
  token.cancel();
  for (const int threads : {1, 2}) {
    EXPECT_THROW(executable.run(inputs, {.threads = threads, .cancel = &token}), Cancelled);
    EXPECT_TRUE(std::ranges::equal(executable.run(inputs, {.threads = threads}), expected, same_bits));
  }
  EXPECT_EQ(used(), before) << "cancelled runs gave their memory back";
}

/// Positions that data decide, looked up inside of a region.
TEST(Pipelines, ReportAPositionOutOfRangeAsStepsDo) {
  const Graph graph = make({"lookup", "x: f32[m, 24], i: i64[m], w: f32[24, 70], w2: f32[10, 70]",
                            "a = relu(matmul(x, w)); y = add(a, gather(w2, i, axes=[0]))"});
  const Bindings at = {{"m", 300}};
  std::vector<Array> inputs = inputs_at(graph, at);
  inputs[1] = Array(i64, {300});
  for (const int64_t bad : {0, 150, 299}) {
    std::vector<Array> wrong = inputs;
    wrong[1].mutable_values<int64_t>()[static_cast<size_t>(bad)] = 10;
    const auto error_of = [&](const CompileOptions& options) {
      const Executable executable = compile(graph, options);
      const std::string error = run(executable, wrong, at, 2).error;
      EXPECT_EQ(run(executable, inputs, at, 2).error, "");
      return error;
    };
    EXPECT_EQ(error_of(in_tiles(1)), error_of(in_tiles(0)));
    EXPECT_NE(error_of(in_tiles(1)), "");
  }
}

TEST(Pipelines, OfManyRunsAtOnceKeepApart) {
  const Graph graph = inverted_residual();
  const Executable executable = compile(graph, in_tiles(2));
  const std::vector<Array> inputs = inputs_at(graph, kImage);
  const std::vector<Array> expected = executable.run(inputs);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 16; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 10; ++round) {
        wrong += std::ranges::equal(executable.run(inputs), expected, same_bits) ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(wrong, 0);
}

TEST(Pipelines, OfAThousandBindingsKeepMemoryFlat) {
  const Graph graph = inverted_residual();
  const Executable executable = compile(graph, in_tiles(3));
  executable.set_memory_budget(8 << 20);
  for (int64_t i = 0; i < 1000; ++i) {
    const Bindings at = {{"b", 1}, {"h", 1 + i % 37}, {"v", 1 + i % 41}};
    executable.run(inputs_at(graph, at));
  }
  EXPECT_LE(executable.counters().cached_bytes + executable.counters().idle_bytes, 8 << 20);
}

}  // namespace
}  // namespace tenon::pipelines_test
