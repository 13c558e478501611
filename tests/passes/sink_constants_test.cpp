#include "passes/sink_constants.h"

#include <gtest/gtest.h>

#include "ir/node.h"
#include "support/arrays.h"
#include "tenon/control.h"
#include "tenon/interpreter.h"

namespace tenon::passes::sink_constants_test {
namespace {

TEST(SinkConstants, IntoLoopsAndBothBranches) {
  const Value x = input("x", shape(f32, "n"));
  const Value condition = input("condition", Shape(boolean, {}));
  const Value two = constant(Array::from<float>({1}, {2}));
  const Value three = constant(Array::from<float>({1}, {3}));
  const Value grown =
      loop(3, {x}, [&](const Value&, const std::vector<Value>& v) { return std::vector<Value>{v[0] * two + x}; })[0];
  const Value chosen = if_then_else(
      condition, [&](const auto& v) { return std::vector<Value>{v[0] * v[1]}; },
      [&](const auto& v) { return std::vector<Value>{v[0] + v[1]}; }, {grown, three})[0];
  const Graph graph({x, condition}, {{"y", chosen}});
  const Graph sunk = sink_constants(graph);
  int bodies = 0;
  for (const Node* node : sunk.nodes()) {
    const bool is_loop = node->as<Loop>() != nullptr;
    if (is_loop || node->as<If>() != nullptr) {
      EXPECT_EQ(node->inputs.size(), 2u) << "what is carried and x; the condition and what grew";
      ++bodies;
    }
  }
  EXPECT_EQ(bodies, 2);
  for (const bool which : {true, false}) {
    const std::vector<Array> inputs = {Array::from<float>({3}, {1, 2, 3}), Array::from<bool>({}, {which})};
    EXPECT_TRUE(same(interpret(sunk, inputs)[0], interpret(graph, inputs)[0]));
  }
}

}  // namespace
}  // namespace tenon::passes::sink_constants_test
