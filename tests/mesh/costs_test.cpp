// What sending costs, what a rank takes, and shardings that are chosen by it.
#include "mesh/split/costs.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "mesh/exchange/threads.h"
#include "mesh/run/measure_costs.h"
#include "mesh/split/rank_estimate.h"
#include "support/error_text.h"
#include "tenon/models.h"
#include "tenon/text.h"

namespace tenon::mesh::costs_test {
namespace {

TEST(MeshCosts, AreReadAsTheyAreWritten) {
  const MeshCosts costs = parse_costs(
      R"({"work_per_second": 1e9, "axes": {"data": {"latency_us": 50, "gigabytes_per_second": 0.5}}})", "costs");
  EXPECT_DOUBLE_EQ(costs.along("data").latency, 50e-6);
  EXPECT_DOUBLE_EQ(costs.along("data").bytes_per_second, 0.5e9);
  EXPECT_DOUBLE_EQ(costs.along("model").latency, LinkCosts().latency);
  const MeshCosts again = parse_costs(to_json(costs), "again");
  EXPECT_DOUBLE_EQ(again.along("data").bytes_per_second, 0.5e9);
  EXPECT_DOUBLE_EQ(again.work_per_second, 1e9);
}

TEST(MeshCosts, SayWhatIsWrong) {
  EXPECT_EQ(error_text([] { parse_costs(R"({"latency": 3})", "net.json"); }),
            "net.json:1: there is no field `latency`; there is: work_per_second, link, axes");
  EXPECT_EQ(error_text([] { parse_costs(R"({"link": {"latency_us": 0}})", "net.json"); }),
            "net.json:1: `latency_us` must be a number above 0");
}

TEST(MeshCosts, AreMeasuredAlongEachAxis) {
  const MeshShape shape = MeshShape::parse("data=2,one=1");
  run_as_threads(2, [&](Communicator& world) {
    const MeshCosts costs = measure_costs(shape, world, 1);
    ASSERT_EQ(costs.axes.size(), 1);
    EXPECT_EQ(costs.axes[0].first, "data");
    EXPECT_GT(costs.axes[0].second.bytes_per_second, 1e6);
    EXPECT_GT(costs.work_per_second, 1e6);
  });
}

TEST(RankEstimate, CountsWhatARankKeepsAndSends) {
  const Graph graph = parse_graph(
      "graph main(x: f32[batch, 8], w: f32[8, 16], v: f32[16, 8]) {\n"
      "  h = relu(contract(x, w, lhs_contract=[1], rhs_contract=[0]))\n"
      "  return y=contract(h, v, lhs_contract=[1], rhs_contract=[0])\n}");
  ShardOptions options;
  options.typical = Bindings{{"batch", 6}};
  options.costs = {.link = {.latency = 1e-9, .bytes_per_second = 1e12}, .work_per_second = 1e6};
  const ShardedGraph sharded = shard(graph, MeshShape::parse("m=4"), Sharding::parse("w.1=m,v.0=m"), 0, options);
  const RankEstimate rank = estimate_rank(sharded, options);
  EXPECT_DOUBLE_EQ(rank.input_bytes, 4.0 * (6 * 8 + 8 * 16 / 4.0 + 16 * 8 / 4.0));
  ASSERT_EQ(rank.along.size(), 1);
  EXPECT_DOUBLE_EQ(rank.along.at("m").bytes, 2.0 * 3 / 4 * 6 * 8 * 4);
  EXPECT_EQ(rank.along.at("m").collectives, 1);
  // Two of [6, 16] over 4 ranks: the product and its relu; or the last one and the result.
  EXPECT_DOUBLE_EQ(rank.most_bytes, 4.0 * (6 * 4 + 6 * 8));
}

TEST(Shard, RepeatsWhatIsSplitAndGathersTheResultAlone) {
  // Statistics of rows are small beside what they are repeated for; the sums of all blocks reach the result.
  std::string text = "graph main(x: f32[batch, 256]) {\n  y0 = softmax(x)\n";
  for (int i = 0; i < 4; ++i) {
    text += fmt::format(
        "  s{0} = reshape(reduce(mul(y{0}, y{0}), op=sum, axes=[1]), to=[batch, 1])\n"
        "  y{1} = add(y{0}, mul(y{0}, broadcast(s{0}, to=[batch, 256], axes=[0, 1])))\n",
        i, i + 1);
  }
  const Graph graph = parse_graph(text + "  return y=y4\n}");
  ShardOptions slow;  // a network of little latency that carries little, and slow ranks
  slow.costs = {.link = {.latency = 2e-6, .bytes_per_second = 1e8}, .work_per_second = 4e9};
  slow.typical = Bindings{{"batch", 256}};
  EXPECT_EQ(shard(graph, MeshShape::parse("data=2"), Sharding::parse("batch=data"), 0, slow).collectives.size(), 1);
}

TEST(ChooseWeights, LeavesNamesThatAreInTheWay) {
  // No step of the search gives a name back that it began with.
  const Graph graph = parse_graph(
      "graph main(x: f32[batch, 512], w: f32[512, 2048], v: f32[2048, 512]) {\n"
      "  h = relu(contract(x, w, lhs_contract=[1], rhs_contract=[0]))\n"
      "  return y=contract(h, v, lhs_contract=[1], rhs_contract=[0])\n}");
  ShardOptions options;
  options.typical = Bindings{{"batch", 16}};
  const MeshShape mesh = MeshShape::parse("model=4");
  const Sharding from = Sharding::parse("batch=model");
  const auto seconds = [&](const Sharding& sharding) { return shard(graph, mesh, sharding, 0, options).seconds; };
  const Sharding chosen = choose_weights(graph, mesh, from, options);
  EXPECT_LE(seconds(chosen), seconds(from));
  EXPECT_LE(seconds(chosen), seconds(choose_weights(graph, mesh, {}, options)));
}

TEST(ChooseWeights, FindsTheMegatronFormOfAnMlp) {
  const Graph graph = parse_graph(
      "graph main(x: f32[batch, 512], layers.0.w: f32[512, 2048], layers.0.v: f32[2048, 512], layers.1.w: f32[512, "
      "2048], layers.1.v: f32[2048, 512]) {\n"
      "  h = relu(contract(x, layers.0.w, lhs_contract=[1], rhs_contract=[0]))\n"
      "  y = contract(h, layers.0.v, lhs_contract=[1], rhs_contract=[0])\n"
      "  g = relu(contract(y, layers.1.w, lhs_contract=[1], rhs_contract=[0]))\n"
      "  return z=contract(g, layers.1.v, lhs_contract=[1], rhs_contract=[0])\n}");
  ShardOptions options;
  options.typical = Bindings{{"batch", 16}};
  const MeshShape mesh = MeshShape::parse("model=4");
  const Sharding chosen = choose_weights(graph, mesh, {}, options);
  EXPECT_EQ(chosen.to_string(), "layers.*.v.0=model,layers.*.w.1=model");
  EXPECT_EQ(shard(graph, mesh, chosen, 0, options).collectives.size(), 2);
}

}  // namespace
}  // namespace tenon::mesh::costs_test
