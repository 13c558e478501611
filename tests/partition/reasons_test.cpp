// What plans say of themselves: reasons, transfers, energy, limits; each is checked when a plan is read.
#include <gtest/gtest.h>

#include <algorithm>

#include "partition/partition.h"
#include "partition/plan/flow.h"
#include "partition/plan/verify.h"
#include "support/error_text.h"
#include "support/random_dag.h"
#include "tenon/autodiff.h"
#include "tenon/convolution.h"
#include "tenon/ops.h"
#include "tenon/partition.h"
#include "tenon/text.h"

namespace tenon::partition::reasons_test {
namespace {

/// Two blocks with a shortcut each.
Graph two_blocks() {
  return parse_graph(R"(
graph blocks(x: f32[batch, 8, 16, 16], w: f32[8, 8, 3, 3], v: f32[8, 8, 3, 3]) {
  a = relu(conv(x, w, low=[1, 1], high=[1, 1]))
  b = relu(add(conv(a, v, low=[1, 1], high=[1, 1]), x))
  c = relu(conv(b, v, low=[1, 1], high=[1, 1]))
  return y=relu(add(conv(c, w, low=[1, 1], high=[1, 1]), b))
})");
}

const Bindings kTwo{{"batch", 2}};

std::string why_in(const PlanOptions& options, std::string_view a, std::string_view b) {
  const WorkGraph work = work_graph(two_blocks());
  return why(work, make_plan(work, kTwo, roomy_profile(), options), a, b);
}

TEST(Why, NamesTheStrategyThatJoins) {
  EXPECT_EQ(why_in({}, "conv1", "relu1"), "`conv1` and `relu1` are in one part, 1: vertical joins `conv1` and `relu1`");
  EXPECT_EQ(why_in({}, "conv2", "add1"), "`conv2` and `add1` are in one part, 2: residual joins `conv2` and `add1`");
  EXPECT_EQ(why_in({}, "conv2", "relu2"),
            "`conv2` and `relu2` are in one part, 2: residual joins `conv2` and `add1`, vertical `add1` and `relu2`");
}

TEST(Why, IsAboutThePartsThatThePartitionerMakes) {
  const PlanOptions one{.fuse = {"vertical"}, .by = "parts", .parts = 1};
  EXPECT_EQ(why_in(one, "conv2", "add1"),
            "`conv2` and `add1` are in one part, 1\n"
            "  vertical: `add1` reads 2 activations; a chain has one (strategy residual joins such)\n"
            "  parts: puts their groups into one part");
  const std::string apart = why_in({.by = "parts", .parts = 2, .imbalance = 1}, "conv1", "conv4");
  EXPECT_EQ(apart.find("`conv1` and `conv4` are in different parts, 1 and 2\n"), 0U) << apart;
  EXPECT_NE(apart.find("\n  parts: part 1 ends: 1 activation of 16384 bytes leaves here"), std::string::npos) << apart;
}

TEST(Why, SaysWhatHeldWhenTheStrategyRan) {
  const WorkGraph work = work_graph(parse_graph(R"(
graph three(x: f32[n, 8, 16, 16], a: f32[4, 8, 1, 1], b: f32[4, 8, 1, 1], c: f32[4, 8, 1, 1]) {
  return y=conv(x, a), z=concat(conv(x, b), conv(x, c), axis=1)
})"));
  const Bindings sizes{{"n", 2}};
  const auto said = [&](std::vector<std::string> fuse, std::string_view one, std::string_view other) {
    return why(work, make_plan(work, sizes, roomy_profile(), {.fuse = std::move(fuse)}), one, other);
  };
  // Neither is joined with an operand of it: it has none.
  EXPECT_EQ(said({"horizontal"}, "conv2", "conv3"),
            "`conv2` and `conv3` are in different parts, 2 and 3\n"
            "  horizontal: products are joined with the first that reads what they share, which is `conv1`, and "
            "`conv2` is not: the results of `conv1` and `conv2` are not used together within 8 steps");
}

TEST(Why, KnowsWhatLiesBetweenProducts) {
  const WorkGraph work = work_graph(parse_graph(R"(
graph heads(q: f32[n, 64, 16], k: f32[n, 64, 16], v: f32[n, 64, 16]) {
  s = contract(q, k, lhs_contract=[2], rhs_contract=[2], lhs_batch=[0], rhs_batch=[0])
  p = softmax(mul(s, 0.25), axis=2)
  return y=contract(p, v, lhs_contract=[2], rhs_contract=[1], lhs_batch=[0], rhs_batch=[0])
})"));
  const Plan plan = make_plan(work, {{"n", 2}}, roomy_profile(), {.fuse = {"attention"}});
  ASSERT_EQ(plan.parts.size(), 1U);
  Plan apart = make_plan(work, {{"n", 2}}, roomy_profile(), {.fuse = {"none"}});
  apart.fuse = "attention";
  const std::string text = why(work, apart, work.operators[0].name, work.operators[1].name);
  EXPECT_NE(text.find("though attention joins"), std::string::npos) << text;
}

TEST(Plans, RefuseReasonsThatAreNotSo) {
  const WorkGraph work = work_graph(two_blocks());
  const Profile profile = roomy_profile();
  for (const PlanOptions& options :
       {PlanOptions{}, PlanOptions{.by = "blocks"}, PlanOptions{.by = "resources"},
        PlanOptions{.by = "parts", .parts = 2, .imbalance = 1}, PlanOptions{.by = "pipeline", .parts = 2}}) {
    const Plan plan = make_plan(work, kTwo, profile, options);
    verify(plan, work, profile);
    Plan wrong = plan;
    wrong.parts[0].why = "the moon is full";
    EXPECT_EQ(error_text([&] { verify(wrong, work, profile); }),
              "part 1, which begins with operator `conv1`, is said to end because `the moon is full`, and that is not "
              "so: " +
                  plan.parts[0].why);
  }
}

TEST(Plans, CountATransferForEachReader) {
  const WorkGraph work = work_graph(two_blocks());
  const Plan plan = make_plan(work, kTwo, roomy_profile(), {.fuse = {"none"}});
  int64_t bytes = 0;
  int of_relu = 0;
  for (const Transfer& transfer : plan.transfers) {
    bytes += transfer.bytes;
    of_relu += work.tensors[static_cast<size_t>(transfer.tensor)].producer == work.find("relu2") ? 1 : 0;
  }
  EXPECT_EQ(of_relu, 2);  // a convolution and an addition
  EXPECT_EQ(plan.transfers.size(), 10U);
  EXPECT_EQ(bytes, plan.totals.transfer_bytes);
}

TEST(Costs, EnergyIsOfTheMemoryThatTimeTakesBytesFrom) {
  const WorkGraph work = work_graph(two_blocks());
  Profile profile = roomy_profile();
  profile.units[0].flops = {{"any", 1e15}};
  profile.memories[0].joules_per_byte = 100;
  const Plan far = make_plan(work, kTwo, profile, {});
  profile.memories.push_back(
      {.name = "cache", .bytes = 1 << 20, .bandwidth = 1e12, .joules_per_byte = 1, .cache = true});
  const Plan near = make_plan(work, kTwo, profile, {});
  EXPECT_LT(near.totals.latency, far.totals.latency);
  EXPECT_DOUBLE_EQ(near.totals.joules * 100, far.totals.joules);
  profile.memories[1].bytes = 16;  // holds nothing of it
  EXPECT_DOUBLE_EQ(make_plan(work, kTwo, profile, {}).totals.joules, far.totals.joules);
}

TEST(Costs, GradientsMultiplyNoZerosBetweenElements) {
  const Value x = input("x", shape(f32, 2, 8, 16, 16));
  const Value w = input("w", shape(f32, 4, 8, 3, 3));
  const Value y = conv(x, w, {.stride = {2, 2}, .low = {1, 1}, .high = {1, 1}});
  const auto macs = [](const std::vector<Output>& outputs, const std::vector<Value>& inputs) {
    Extent sum = 0;
    for (const Operator& op : work_graph(Graph("g", inputs, outputs)).operators) {
      sum += op.macs;
    }
    return *sum.constant();
  };
  const int64_t forward = macs({{.name = "y", .value = y}}, {x, w});
  const std::vector<Value> gradient = gradients(reduce_sum(y * y, {}), {x, w});
  EXPECT_EQ(macs({{.name = "x", .value = gradient[0]}, {.name = "w", .value = gradient[1]}}, {x, w}), 3 * forward);
}

TEST(Limits, OfArithmeticKeepPartsSmall) {
  const WorkGraph work = work_graph(two_blocks());
  const Profile profile = roomy_profile();
  EXPECT_EQ(make_plan(work, kTwo, profile, {.by = "resources"}).parts.size(), 1U);
  const double all = make_plan(work, kTwo, profile, {.by = "resources"}).totals.flops;
  const Plan half = make_plan(work, kTwo, profile, {.by = "resources", .limits = {.flops = 0.51 * all}});
  ASSERT_EQ(half.parts.size(), 2U);
  EXPECT_EQ(half.parts[0].why.find("with the next part it would have "), 0U) << half.parts[0].why;
  const Plan tiny = make_plan(work, kTwo, profile, {.by = "resources", .limits = {.flops = all / 16}});
  EXPECT_EQ(tiny.parts.size(), 4U);
  for (const Part& part : tiny.parts) {
    EXPECT_LE(part.figures.flops / static_cast<double>(part.tiles), all / 16);
  }
  EXPECT_EQ(parse_plan(to_json(tiny, work), "p.json", work), tiny);
  Plan wrong = tiny;
  wrong.limits.flops /= 2;
  EXPECT_NE(error_text([&] { verify(wrong, work, profile); }).find("FLOPs in a piece, and the plan promises"),
            std::string::npos);
}

TEST(Limits, OfParallelismKeepNarrowProductsApart) {
  const WorkGraph work = work_graph(parse_graph(R"(
graph head(x: f32[64, 256], a: f32[256, 256], b: f32[256, 256], c: f32[256, 2]) {
  return y=contract(contract(contract(x, a, lhs_contract=[1], rhs_contract=[0]), b, lhs_contract=[1], rhs_contract=[0]), c, lhs_contract=[1], rhs_contract=[0])
})"));
  const Profile profile = roomy_profile();
  const Plan plan = make_plan(work, {}, profile, {.by = "resources", .limits = {.parallelism = 1000}});
  ASSERT_EQ(plan.parts.size(), 2U);
  EXPECT_EQ(plan.parts[0].operators.size(), 2U);
  EXPECT_EQ(plan.parts[0].why.find("its parallelism is 16384 and that of the next part 128, on both sides of 1000; "),
            0U)
      << plan.parts[0].why;
  Plan wrong = make_plan(work, {}, profile, {.by = "resources"});
  wrong.limits.parallelism = 1000;
  EXPECT_NE(error_text([&] { verify(wrong, work, profile); }).find("of more and of less parallelism than 1000"),
            std::string::npos);
}

TEST(RandomDags, WhatIsComputedAgainWasRead) {
  const Profile profile = roomy_profile();
  int again = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const SizedGraph graph = random_dag(seed, 20, static_cast<DagShape>(seed % 4));
    const int64_t peak = make_plan(graph, {}, profile, {.fuse = {"none"}}).totals.peak_bytes;
    Plan plan;
    const PlanOptions options{.fuse = {"none"}, .memory_limit = peak * 9 / 10};
    if (options.memory_limit < 1 || error_text([&] { plan = make_plan(graph, {}, profile, options); }) != "no error") {
      continue;
    }
    for (const std::vector<int>& dead : unread(graph, plan.parts)) {
      EXPECT_TRUE(dead.empty()) << seed;
    }
    again += std::ranges::any_of(plan.parts, [](const Part& part) { return !part.again.empty(); }) ? 1 : 0;
  }
  EXPECT_GT(again, 10);
}

TEST(Plans, RefuseWhatIsComputedForNothing) {
  const WorkGraph work = work_graph(two_blocks());
  const Profile profile = roomy_profile();
  Plan plan = make_plan(work, kTwo, profile, {.fuse = {"none"}});
  Part again = plan.parts[0];
  again.again = again.operators;
  plan.parts.insert(plan.parts.begin() + 1, again);
  EXPECT_EQ(error_text([&] { verify(plan, work, profile); }),
            "part 1 computes operator `conv1`, and nobody reads that before a later part computes it again");
}

TEST(Operators, AResizeIsOne) {
  const WorkGraph work = work_graph(parse_graph(R"(
graph up(x: f32[n, 8, height, width]) {
  return y=relu(resize(x, [2, 3], [2*height, 2*width], mode=linear))
})"));
  ASSERT_EQ(work.operators.size(), 2U);
  EXPECT_EQ(work.operators[0].name, "resize1");
  EXPECT_EQ(work.operators[0].role, Role::gather);
}

}  // namespace
}  // namespace tenon::partition::reasons_test
