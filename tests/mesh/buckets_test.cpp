// When collectives go, and which go together.
#include "mesh/run/buckets.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "mesh/split/program.h"
#include "support/arrays.h"
#include "support/on_mesh.h"
#include "tenon/autodiff.h"
#include "tenon/text.h"

namespace tenon::mesh::buckets_test {
namespace {

/// Gradients of three layers, the loss of the last one, and a step of each weight.
Graph step() {
  const Graph forward = parse_graph(
      "graph main(x: f32[batch, 256], u: f32[256, 256], v: f32[256, 256], w: f32[256, 256]) {\n"
      "  a = tanh(contract(x, u, lhs_contract=[1], rhs_contract=[0]))\n"
      "  b = tanh(contract(a, v, lhs_contract=[1], rhs_contract=[0]))\n"
      "  c = tanh(contract(b, w, lhs_contract=[1], rhs_contract=[0]))\n"
      "  return loss=reduce(c, op=sum, axes=[0, 1])\n}");
  std::vector<Value> weights(forward.inputs().begin() + 1, forward.inputs().end());
  const std::vector<Value> found = gradients(forward.outputs()[0].value, weights);
  std::vector<Output> outputs = forward.outputs();
  for (size_t i = 0; i < weights.size(); ++i) {
    outputs.push_back({.name = "new_" + std::string(weights[i].name()), .value = weights[i] - found[i] * 0.1});
  }
  return Graph("step", forward.inputs(), outputs);
}

TEST(Buckets, GradientsGoInTheOrderInWhichTheyAreThere) {
  const Bindings sizes{{"batch", 2048}};
  const ShardedGraph sharded =
      shard(step(), MeshShape::parse("data=2"), Sharding::parse("batch=data"), 0, {.typical = sizes});
  const RankProgram program = cut_into_segments(sharded);
  ASSERT_EQ(program.plan.segments.size(), 2);
  std::vector<size_t> all = program.plan.segments[0].collectives;
  std::ranges::reverse(all);  // whatever the order
  const auto groups = buckets(sharded.collectives, all, sizes);
  std::vector<std::string> names;
  for (const auto& group : groups) {
    ASSERT_EQ(group.size(), 1) << sharded.collectives[group[0]].whole.to_string();
    names.push_back(sharded.collectives[group[0]].whole.rank() == 0 ? "loss" : sharded.collectives[group[0]].reason);
  }
  ASSERT_EQ(names.size(), 4);
  // The gradient of the last layer is there first; what is small is told at the end.
  EXPECT_EQ(names.back(), "loss");
  EXPECT_LT(sharded.collectives[groups[0][0]].depth, sharded.collectives[groups[1][0]].depth);
  EXPECT_LT(sharded.collectives[groups[1][0]].depth, sharded.collectives[groups[2][0]].depth);
}

TEST(Segments, StepsOfTheOptimiserComeLast) {
  const ShardedGraph sharded =
      shard(step(), MeshShape::parse("data=2"), Sharding::parse("batch=data"), 0, {.typical = {{"batch", 2048}}});
  const RankProgram program = cut_into_segments(sharded);
  ASSERT_EQ(program.plan.segments.size(), 2);
  // Three gradients and the loss cross, and nothing of the weights' steps.
  EXPECT_EQ(program.plan.segments[0].gives.size(), 4);
  EXPECT_EQ(program.plan.segments[1].gives.size(), 3);
}

TEST(Overlap, GradientsGoWhileTheRestIsComputed) {
  const Bindings sizes{{"batch", 8}};
  const std::vector<Array> inputs = random_inputs(step(), sizes, 1);
  std::vector<size_t> told;
  const auto listening = [&](const Graph& graph) -> SegmentRun {
    const SegmentRun run = compiling({.disk_cache = false}, 1)(graph);
    return [&told, run](const std::vector<Array>& operands, const Bindings& bindings, const Watchers& watchers) {
      class Listener : public RunObserver {
       public:
        Listener(RunObserver& to, std::vector<size_t>& told) : to_(to), told_(told) {}
        void on_output(size_t output, const Array& array) override {
          told_.push_back(output);
          to_.on_output(output, array);
        }
        void between_steps() override { to_.between_steps(); }

       private:
        RunObserver& to_;
        std::vector<size_t>& told_;
      } listener(*watchers.observer, told);
      return run(operands, bindings, {.observer = &listener});
    };
  };
  // One rank: no thread but this one writes `told`.
  run_on_threads(step(), "data=1", "batch=data", inputs, sizes, free_network(), listening);
  EXPECT_GE(told.size(), 3);
}

}  // namespace
}  // namespace tenon::mesh::buckets_test
