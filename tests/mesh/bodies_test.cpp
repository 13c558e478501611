// Loops and branches whose bodies run on parts.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "ir/node.h"
#include "support/arrays.h"
#include "support/equivalence.h"
#include "support/on_mesh.h"
#include "tenon/losses.h"
#include "tenon/models.h"
#include "tenon/ops.h"
#include "tenon/optimizers.h"
#include "tenon/text.h"

namespace tenon::mesh::bodies_test {
namespace {

constexpr const char* kRecurrent =
    "graph step(i: i64[], h: f32[n, 3], e: f32[n, 3], v: f32[3, 3]) {\n"
    "  k = tanh(add(contract(h, v, lhs_contract=[1], rhs_contract=[0]), e))\n"
    "  return a=k, b=mul(k, e)\n}\n"
    "graph main(h: f32[n, 3], s: f32[time, n, 3], v: f32[3, 3]) {\n"
    "  %0, %1 = loop(h, s, v, body=step, trips=time, carried=1, scanned=1)\n"
    "  return last=%0, all=%1\n}";

/// What is carried is whole, and split from the first trip on.
constexpr const char* kFromZeros =
    "graph step(i: i64[], h: f32[n, 3], e: f32[n, 3]) { return a=add(mul(h, 0.5), e) }\n"
    "graph main(s: f32[time, n, 3]) {\n"
    "  z = broadcast(scalar(f32, 0), to=[n, 3], axes=[])\n"
    "  return last=loop(z, s, body=step, trips=time, carried=1, scanned=1)\n}";

/// Grows by a sum over what is split.
constexpr const char* kSum =
    "graph step(i: i64[], t: f32[3, 3], e: f32[n, 3]) {\n"
    "  return a=add(t, contract(e, e, lhs_contract=[0], rhs_contract=[0]))\n}\n"
    "graph main(t: f32[3, 3], s: f32[time, n, 3]) {\n"
    "  return total=loop(t, s, body=step, trips=time, carried=1, scanned=1)\n}";

/// Each trip needs all rows.
constexpr const char* kMixing =
    "graph step(i: i64[], h: f32[n, 3], e: f32[n, 3]) {\n"
    "  m = broadcast(reduce(h, op=max, axes=[0]), to=[n, 3], axes=[1])\n"
    "  return a=add(h, mul(m, e))\n}\n"
    "graph main(h: f32[n, 3], s: f32[time, n, 3]) {\n"
    "  return last=loop(h, s, body=step, trips=time, carried=1, scanned=1)\n}";

constexpr const char* kBranch =
    "graph first(x: f32[n, 4], y: f32[n, 4]) { return a=exp(x), b=reduce(y, op=sum, axes=[0]) }\n"
    "graph second(x: f32[n, 4], y: f32[n, 4]) { return a=mul(x, y), b=reduce(x, op=sum, axes=[0]) }\n"
    "graph main(c: f32[], x: f32[n, 4], y: f32[n, 4]) {\n"
    "  %0, %1 = if(lt(c, 0.1), x, y, then_body=first, else_body=second)\n"
    "  return a=%0, b=%1\n}";

bool has_body_in_parts(const ShardedGraph& graph) {
  return std::ranges::any_of(graph.values, [](const ShardedValue& each) {
    return (each.operation == "loop" || each.operation == "if") &&
           std::ranges::any_of(each.layout, [](const Placement& place) { return !place.is_whole(); });
  });
}

class Bodies : public testing::TestWithParam<const char*> {};

TEST_P(Bodies, EqualTheWholeAlongEachAxis) {
  const Graph graph = parse_graph(GetParam());
  for (const int64_t n : {0, 1, 7}) {
    for (const int64_t time : {0, 1, 3}) {
      Bindings bindings{{"n", n}};
      if (std::string(GetParam()).find("time") != std::string::npos) bindings.set("time", time);
      const std::vector<Array> inputs = random_inputs(graph, bindings, 5);
      for (const Value& input : graph.inputs()) {
        for (int axis = 0; axis < input.rank(); ++axis) {
          for (const int ranks : {2, 3}) {
            EXPECT_EQ(mesh_difference(graph, fmt::format("m={}", ranks), fmt::format("{}.{}=m", input.name(), axis),
                                      inputs, bindings)
                          .value_or(""),
                      "");
          }
        }
      }
      EXPECT_EQ(
          mesh_difference(graph, "a=2,b=2",
                          fmt::format("n=a,{}.{}=b", graph.inputs().back().name(), graph.inputs().back().rank() - 1),
                          inputs, bindings)
              .value_or(""),
          "");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, Bodies, testing::Values(kRecurrent, kFromZeros, kSum, kMixing, kBranch));

TEST(Bodies, RunInPartsWithoutAnExchangeInside) {
  for (const char* text : {kRecurrent, kFromZeros, kSum, kBranch}) {
    const ShardedGraph graph =
        shard(parse_graph(text), MeshShape::parse("m=2"), Sharding::parse("n=m"), 0, free_network());
    EXPECT_TRUE(has_body_in_parts(graph)) << text;
  }
  const ShardedGraph mixing =
      shard(parse_graph(kMixing), MeshShape::parse("m=2"), Sharding::parse("n=m"), 0, free_network());
  EXPECT_FALSE(has_body_in_parts(mixing));
  const auto loop = std::ranges::find(mixing.values, "loop", &ShardedValue::operation);
  EXPECT_EQ(loop->reason, "loop does not run in parts along m of the mesh, or costs more so");
}

TEST(Bodies, StepsOfARecurrentModelSumGradientsOnce) {
  const Model model = lstm_lm({.vocabulary = 9, .width = 6, .hidden = 5, .layers = 1});
  const Value& y = model.graph.outputs()[0].value;
  const Value target = input("target", y.shape());
  std::vector<Value> inputs = model.graph.inputs();
  inputs.insert(inputs.begin() + static_cast<std::ptrdiff_t>(model.data_inputs), target);
  std::vector<std::string> trained;
  for (const Parameter& each : model.parameters) {
    trained.push_back(each.name);
  }
  const Graph step =
      training_step(Graph("lstm", inputs, {{"loss", mse_loss(y, target)}}), sgd(), {.parameters = trained});
  const Bindings bindings{{"batch", 5}, {"seq", 4}};
  EXPECT_EQ(mesh_difference(step, "data=2", "batch=data", random_inputs(step, bindings, 3), bindings,
                            std::vector<Tolerance>(step.outputs().size(), {.absolute = 1e-4, .relative = 1e-3}))
                .value_or(""),
            "");
  const ShardedGraph graph = shard(step, MeshShape::parse("data=2"), Sharding::parse("batch=data"), 0, free_network());
  EXPECT_TRUE(has_body_in_parts(graph));
  // The gradient of the recurrent weight grows over trips as a term of each rank.
  EXPECT_TRUE(std::ranges::any_of(
      graph.collectives, [](const Collective& each) { return each.from.is_partial() && each.of.starts_with("loop"); }));
}

}  // namespace
}  // namespace tenon::mesh::bodies_test
