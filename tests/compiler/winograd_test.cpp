// Convolutions in Winograd's form, against the interpreter and against themselves.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "kernel/product/product.h"
#include "kernel/program/program.h"
#include "schedule/products/winograd_blocks.h"
#include "schedule/schedule.h"
#include "support/arrays.h"
#include "support/compiled.h"
#include "support/machines.h"
#include "support/small_graph.h"
#include "support/winograd_graphs.h"
#include "tenon/interpreter.h"

namespace tenon::winograd_test {
namespace {

constexpr double kRounding = 0x1p-24;  // of f32, by the number

/// Products of 1x1 stand around the convolution: there the channels of images lie side by side.
SmallGraph between(std::string name, int channels, int results, const std::string& pads, const std::string& after = "c",
                   const std::string& more_inputs = "") {
  return {std::move(name),
          fmt::format("x: f32[b, 3, h, v], wa: f32[{0}, 3, 1, 1], wb: f32[{1}, {0}, 3, 3], wc: f32[5, {1}, 1, 1]{2}",
                      channels, results, more_inputs),
          fmt::format("a = conv(x, wa); c = conv(a, wb{}); y = conv({}, wc)", pads.empty() ? "" : ", " + pads, after)};
}

/// Sums of K numbers lose about the root of K roundings, of what is as large as the largest result; transforms and the
/// sums around add some more.
CompiledCheck check_of(int64_t channels) {
  const double roundings = 8 * std::sqrt(9.0 * static_cast<double>(channels));
  return {
      .compile = {.machine = with_cache(kCache)}, .relative = 0, .absolute = 1e-6, .of_largest = roundings * kRounding};
}

std::vector<Bindings> images() {
  std::vector<Bindings> all;
  const auto add = [&](int64_t b, int64_t h, int64_t v) { all.push_back({{"b", b}, {"h", h}, {"v", v}}); };
  for (const int64_t size : {3, 4, 5, 7, 8, 13}) {
    add(1, size, size);
    add(3, size, 16 - size);
  }
  add(0, 5, 6);
  add(2, 3, 40);
  add(2, 31, 3);
  return all;
}

/// So many convolutions of `channels` channels are in the form, and results are right.
void expect_right(const Graph& graph, int64_t channels, int in_form) {
  CompiledCheck check = check_of(channels);
  check.at = images();
  EXPECT_EQ(forms(compile(graph, check.compile)), in_form);
  EXPECT_TRUE(compiled_matches(graph, check));
}

struct ImageCase {
  SmallGraph graph;
  int64_t channels = 64;
  bool small = true;  // images smaller than weights are images, too
};
void PrintTo(const ImageCase& each, std::ostream* out) { *out << each.graph.name; }

class Winograd : public testing::TestWithParam<ImageCase> {};

TEST_P(Winograd, GivesWhatTheInterpreterGives) {
  const Graph graph = make(GetParam().graph);
  CompiledCheck check = check_of(GetParam().channels);
  check.at = images();
  if (GetParam().small) {
    for (const int64_t size : {0, 1, 2}) {
      check.at.push_back({{"b", 2}, {"h", size}, {"v", size}});
      check.at.push_back({{"b", 1}, {"h", 4}, {"v", size}});
      check.at.push_back({{"b", 1}, {"h", size}, {"v", 5}});
    }
  }
  EXPECT_EQ(forms(compile(graph, check.compile)), 1);
  EXPECT_TRUE(compiled_matches(graph, check));
}

const std::string kSame = "low=[1, 1], high=[1, 1]";

INSTANTIATE_TEST_SUITE_P(
    All, Winograd,
    testing::Values(
        ImageCase{between("same", 64, 64, kSame)}, ImageCase{between("inside", 64, 64, ""), 64, false},
        ImageCase{between("apart", 64, 65, "low=[0, 2], high=[2, 1]")},
        ImageCase{between("wide_pads", 64, 64, "low=[3, 1], high=[1, 4]")},
        ImageCase{between("odd_channels", 65, 80, kSame), 65}, ImageCase{between("other_odd", 80, 65, kSame), 80},
        ImageCase{between("more", 128, 128, kSame), 128}, ImageCase{between("wide", 64, 128, ""), 64, false},
        ImageCase{between("bias_relu", 64, 64, kSame, "relu(add(c, wd))", ", wd: f32[64, 1, 1]")},
        ImageCase{between("residual", 64, 64, kSame, "relu(add(c, a))")},
        ImageCase{between("gelu_of_inputs", 64, 64, kSame, "gelu(mul(c, u))", ", u: f32[b, 64, h, v]")},
        ImageCase{between("by_position", 64, 80, kSame, "add(c, u)", ", u: f32[h, v]")},
        ImageCase{between("looked_up", 64, 64, kSame, "add(c, gather(u, iota(i64[v], 0), axes=[0]))", ", u: f32[v]")},
        ImageCase{
            between("by_row_and_image", 64, 64, kSame, "add(add(c, u), s)", ", u: f32[h, 1], s: f32[b, 64, 1, 1]")}),
    [](const auto& each) { return each.param.graph.name; });

/// Several blocks of rows, of whole images, and of a row.
TEST(Winograd, CutsLargeImages) {
  const Graph graph = make(between("same", 64, 64, kSame, "relu(c)"));
  CompiledCheck check = check_of(64);
  check.at = {{{"b", 1}, {"h", 51}, {"v", 40}}, {{"b", 9}, {"h", 10}, {"v", 11}}, {{"b", 2}, {"h", 3}, {"v", 401}}};
  EXPECT_TRUE(compiled_matches(graph, check));
}

TEST(Winograd, StoresSeveralResults) {
  const Graph graph =
      make({"two", "x: f32[b, 3, h, v], wa: f32[64, 3, 1, 1], wb: f32[64, 64, 3, 3], wc: f32[5, 64, 1, 1]",
            "a = conv(x, wa); c = conv(a, wb, low=[1, 1], high=[1, 1]); e = exp(mul(c, c)); r = relu(c); "
            "y = conv(r, wc); y2 = conv(sigmoid(c), wc); y3 = conv(add(r, a), wc)"});
  expect_right(graph, 64, 1);
}

TEST(Winograd, WritesItsPartOfAConcat) {
  const Graph graph = make({"concat",
                            "x: f32[b, 3, h, v], wa: f32[64, 3, 1, 1], wb: f32[64, 64, 3, 3], wd: f32[80, 64, 3, 3], "
                            "wc: f32[5, 144, 1, 1]",
                            "a = conv(x, wa); c = relu(conv(a, wb, low=[1, 1], high=[1, 1])); "
                            "d = relu(conv(a, wd, low=[1, 1], high=[1, 1])); y = conv(concat(c, d, axis=1), wc)"});
  expect_right(graph, 80, 2);
}

TEST(Winograd, RunsWithoutMachineCodeAndInRowsOfItsOwn) {
  const Graph graph = make(between("same", 64, 66, kSame, "relu(c)"));
  for (const CompileOptions& options : {CompileOptions{.native = false, .machine = with_cache(kCache)},
                                        CompileOptions{.most_row_bytes = 0, .machine = with_cache(kCache)},
                                        CompileOptions{.fuse = false, .machine = with_cache(kCache)}}) {
    CompiledCheck check = check_of(64);
    check.compile = options;
    check.at = {{{"b", 2}, {"h", 5}, {"v", 6}}, {{"b", 1}, {"h", 0}, {"v", 3}}, {{"b", 1}, {"h", 1}, {"v", 9}}};
    EXPECT_EQ(forms(compile(graph, options)), 1);
    EXPECT_TRUE(compiled_matches(graph, check));
  }
}

TEST(Winograd, KnowsStaticImages) {
  for (const int64_t size : {1, 2, 6, 7}) {
    SmallGraph text = between("static", 64, 64, kSame, "relu(c)");
    text.inputs.replace(0, text.inputs.find(']') + 1, fmt::format("x: f32[2, 3, {}, {}]", size, 2 * size));
    CompiledCheck check = check_of(64);
    check.bindings = 1;
    const Graph graph = make(text);
    EXPECT_EQ(forms(compile(graph, check.compile)), size > 1 ? 1 : 0);  // a row is no square
    EXPECT_TRUE(compiled_matches(graph, check)) << size;
  }
}

TEST(Winograd, IsTheSameBitsForAnyNumberOfThreads) {
  const Graph graph = make(between("same", 64, 64, kSame, "relu(c)"));
  const Executable executable = compile(graph, {.least_shared_work = 0, .machine = with_cache(kCache)});
  std::mt19937_64 rng(3);
  EXPECT_TRUE(same_for_any_threads(executable, {random_array(f32, {2, 3, 33, 30}, rng)}));
}

/// As machine code is cut for images of any size.
schedule::WinogradBlocks blocks_of(int64_t channels, int64_t results, const Machine& machine) {
  const schedule::WinogradSize size{.channels = channels, .results = results, .cores = machine.cpu().cores};
  const schedule::ProductTiles tiles = schedule::product_tiles(machine.cpu().second_cache);
  const auto form = schedule::winograd_form(size, tiles);
  return schedule::winograd_blocks(size, form.value(), tiles, 32, kProductPanelScratchBytes);
}

/// Blocks of both sides, the last of which are smaller.
TEST(Winograd, CutsChannelsAndResults) {
  constexpr int kChannels = 196;
  constexpr int kResults = 135;
  const Graph graph = make(between("wide", kChannels, kResults, kSame, "relu(add(c, u))", ", u: f32[b, 1, h, v]"));
  for (const auto& [cache, cores] : {std::pair(kCache / 8, 2), std::pair(kCache / 4, 1), std::pair(kCache, 16)}) {
    CompiledCheck check = check_of(kChannels);
    check.compile.machine = machine_of(cache, cores);
    check.at = {{{"b", 1}, {"h", 5}, {"v", 8}}, {{"b", 2}, {"h", 13}, {"v", 1}}, {{"b", 1}, {"h", 0}, {"v", 4}},
                {{"b", 0}, {"h", 3}, {"v", 3}}, {{"b", 1}, {"h", 1}, {"v", 1}},  {{"b", 1}, {"h", 12}, {"v", 15}}};
    const schedule::WinogradBlocks blocks = blocks_of(kChannels, kResults, check.compile.machine);
    EXPECT_LT(blocks.results, kResults) << cache;
    EXPECT_EQ(blocks.channels < kChannels, cache < kCache) << cache;
    EXPECT_EQ(forms(compile(graph, check.compile)), 1) << cache;
    EXPECT_TRUE(compiled_matches(graph, check)) << cache;
    check.compile.native = false;
    check.at = {{{"b", 1}, {"h", 4}, {"v", 3}}};
    EXPECT_EQ(forms(compile(graph, check.compile)), 1) << cache;
    EXPECT_TRUE(compiled_matches(graph, check)) << cache;
  }
}

/// A sum over channels goes on where the block before it ended, one multiplication and addition after the other.
TEST(Winograd, BlocksDoNotChangeBits) {
  const Graph graph = make({"wide", "x: f32[b, 3, h, v], wa: f32[200, 3, 1, 1], wb: f32[140, 200, 3, 3]",
                            "a = conv(x, wa); c = conv(a, wb, low=[1, 1], high=[1, 1]); "
                            "y = transpose(relu(c), axes=[0, 2, 3, 1])"});
  std::mt19937_64 rng(5);
  std::vector<Array> images{random_array(f32, {2, 3, 15, 14}, rng), random_array(f32, {1, 3, 7, 7}, rng)};
  images[1].mutable_values<float>()[0] = NAN;
  images[1].mutable_values<float>()[24] = INFINITY;
  std::vector<schedule::WinogradBlocks> seen;
  std::vector<Array> expected;
  for (const auto& [cache, cores] : {std::pair(8 * kCache, 2), std::pair(kCache, 16), std::pair(kCache / 2, 2),
                                     std::pair(kCache / 4, 2), std::pair(kCache / 8, 1)}) {
    const Machine machine = machine_of(cache, cores);
    seen.push_back(blocks_of(200, 140, machine));
    const Executable executable = compile(graph, {.least_shared_work = 0, .machine = machine});
    ASSERT_EQ(forms(executable), 1) << executable.explain();
    for (size_t i = 0; i < images.size(); ++i) {
      const Array actual = executable.run({images[i]})[0];
      if (expected.size() <= i) {
        expected.push_back(actual);
      }
      EXPECT_TRUE(same(actual, expected[i])) << cache << ", " << cores;
      EXPECT_TRUE(same_for_any_threads(executable, {images[i]})) << cache << ", " << cores;
    }
  }
  EXPECT_EQ(seen.front().results, 140);
  EXPECT_LT(seen[1].results, 140);
  EXPECT_LT(seen.back().channels, 200);
  EXPECT_LT(seen.back().squares, seen.front().squares);
}

class NotWinograd : public testing::TestWithParam<SmallGraph> {};

TEST_P(NotWinograd, IsAConvolution) {
  const Executable executable = compile(make(GetParam()), {.machine = with_cache(kCache)});
  EXPECT_EQ(forms(executable), 0) << executable.explain();
}

INSTANTIATE_TEST_SUITE_P(
    All, NotWinograd,
    testing::Values(between("few_channels", 63, 64, kSame), between("few_results", 64, 63, kSame),
                    between("strided", 64, 64, "stride=[2, 2]"), between("strided_once", 64, 64, "stride=[1, 2]"),
                    between("dilated", 64, 64, "w_dilation=[2, 2]"),
                    SmallGraph{"grouped",
                               "x: f32[b, 3, h, v], wa: f32[128, 3, 1, 1], wb: f32[128, 64, 3, 3], "
                               "wc: f32[5, 128, 1, 1]",
                               "a = conv(x, wa); c = conv(a, wb, groups=2); y = conv(c, wc)"},
                    SmallGraph{"wider",
                               "x: f32[b, 3, h, v], wa: f32[64, 3, 1, 1], wb: f32[64, 64, 5, 3], wc: f32[5, 64, 1, 1]",
                               "a = conv(x, wa); c = conv(a, wb); y = conv(c, wc)"},
                    SmallGraph{"one_axis", "x: f32[b, 3, h], wa: f32[64, 3, 1], wb: f32[64, 64, 3], wc: f32[5, 64, 1]",
                               "a = conv(x, wa); c = conv(a, wb); y = conv(c, wc)"},
                    SmallGraph{"given_weights", "x: f32[b, 64, h, v], f: f32[64, 64, 3, 3]", "y = conv(x, f)"},
                    SmallGraph{"doubles", "x: f64[b, 3, h, v], wa: f64[64, 3, 1, 1], wb: f64[64, 64, 3, 3]",
                               "a = conv(x, wa); c = conv(a, wb); y = reduce(c, op=sum, axes=[2, 3])"}),
    [](const auto& each) { return each.param.name; });

/// What explain shows without machine code is what runs.
TEST(Winograd, IsTakenForTheSameConvolutionsWithoutMachineCode) {
  for (const int channels : {64, 128, 256, 300}) {
    const Graph graph = make(between("same", channels, channels, kSame));
    EXPECT_EQ(forms(compile(graph, {.native = false, .machine = with_cache(kCache)})),
              forms(compile(graph, {.machine = with_cache(kCache)})))
        << channels;
  }
}

TEST(NotWinograd, WhereItIsSwitchedOff) {
  EXPECT_EQ(forms(compile(make(between("same", 64, 64, kSame)), {.machine = with_cache(kCache), .winograd = false})),
            0);
}

/// In smaller caches fewer squares fit beside each other, and weights would be read more often than they are worth.
TEST(NotWinograd, WhereTheCacheIsTooSmall) {
  const Graph graph = make(between("same", 512, 512, kSame));
  EXPECT_EQ(forms(compile(graph, {.machine = with_cache(kCache)})), 1);
  EXPECT_EQ(forms(compile(graph, {.machine = with_cache(kCache / 16)})), 0);
}

/// Nor are they worth it for few squares.
TEST(NotWinograd, WhereImagesAreKnownToBeSmall) {
  for (const int64_t size : {3, 14}) {
    SmallGraph text = between("static", 256, 256, kSame, "relu(c)");
    text.inputs.replace(0, text.inputs.find(']') + 1, fmt::format("x: f32[1, 3, {}, {}]", size, size));
    EXPECT_EQ(forms(compile(make(text), {.machine = with_cache(kCache)})), size > 3 ? 1 : 0);
  }
}

double largest_error(const Array& actual, const Array& exact) {
  double most = 0;
  for (int64_t i = 0; i < exact.size(); ++i) {
    most = std::max(most, std::abs(actual.at(i) - exact.at(i)));
  }
  return most;
}

TEST(Winograd, IsAsNearToTheTruthAsTheConvolution) {
  const Graph graph = make(alone("relu(x)", "{}"));
  const Executable winograd = compile(graph, {.machine = with_cache(kCache)});
  ASSERT_EQ(forms(winograd), 1);
  std::mt19937_64 rng(4);
  const Array image = random_array(f32, {1, 3, 21, 20}, rng);
  const Array exact = interpret(make(alone("cast(relu(x), dtype=f64)", "cast({}, dtype=f64)")), {image})[0];
  ASSERT_EQ(exact.dtype(), f64);
  double largest = 0;
  for (int64_t i = 0; i < exact.size(); ++i) {
    largest = std::max(largest, std::abs(exact.at(i)));
  }
  const double roundings = std::sqrt(9.0 * 64) * kRounding;
  EXPECT_LT(largest_error(winograd.run({image})[0], exact), 2 * roundings * largest);
}

/// At any size, with the little that products themselves need.
TEST(Winograd, ScratchStaysSmall) {
  for (const auto& [channels, results] :
       {std::pair(64, 64), std::pair(65, 80), std::pair(256, 256), std::pair(300, 1030)}) {
    for (const auto& [cache, panel] : {std::pair(kCache / 2, 32), std::pair(kCache, 32), std::pair(8 * kCache, 0)}) {
      const Program program = schedule::make_program(make(between("same", channels, results, kSame)),
                                                     {.panel = panel, .tiles = schedule::product_tiles(cache)});
      for (const loops::Kernel& kernel : program.kernels) {
        const Extent bytes = scratch_bytes(kernel).substitute(kernel.arguments);
        for (const int64_t size : {1, 2, 15, 64, 1000}) {
          EXPECT_LE(evaluate(bytes, {{"b", 3}, {"h", size}, {"v", 2 * size}}), kMostScratch) << kernel.name;
        }
      }
    }
  }
}

}  // namespace
}  // namespace tenon::winograd_test
