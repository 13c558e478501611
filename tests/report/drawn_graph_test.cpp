// What a picture shows between steps is what one of them makes and another reads.
#include "report/drawn_graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "ir/node.h"
#include "tenon/models.h"
#include "tenon/ops.h"

namespace tenon::report::drawn_graph_test {
namespace {

compiler::Lowered lowered(const Graph& graph) {
  CompileReport report;
  return compiler::lower(graph, {}, report);
}

/// The first edge from one step to another whose value the first does not compute; empty where there is none.
std::string untrue_edge(const compiler::Lowered& program) {
  const DrawnGraph graph = drawn_graph(program);
  const std::vector<compiler::LoweredStep> steps = program.steps();
  for (const DrawnNode& to : graph.nodes) {
    for (const DrawnValue& operand : to.operands) {
      const DrawnNode& from = graph.nodes[operand.from];
      if (from.step && from.step != to.step &&
          std::ranges::find(steps[*from.step].nodes, from.node) == steps[*from.step].nodes.end()) {
        return std::string(op_name(from.node->op)) + " to " + std::string(op_name(to.node->op));
      }
    }
  }
  return "";
}

TEST(DrawnGraph, AViewThatSeveralStepsReadThroughIsDrawnInEach) {
  const Value x = input("x", shape(f32, "batch", "n"));
  const Value bias = input("bias", shape(f32, "n"));
  const Value first = input("first", shape(f32, "n", "n"));
  const Value second = input("second", shape(f32, "n", "n"));
  const Value rows = broadcast(bias, {x.shape().axis(0), x.shape().axis(1)}, Axes{1});
  const Value hidden = relu(matmul(x, first) + rows);
  const Graph graph("shared", {x, bias, first, second}, {{"y", matmul(hidden, second) + rows}});
  const compiler::Lowered program = lowered(graph);
  ASSERT_EQ(program.steps().size(), 2U);
  EXPECT_EQ(untrue_edge(program), "");
  const DrawnGraph drawn = drawn_graph(program);
  const auto is_broadcast = [](const DrawnNode& node) { return std::holds_alternative<Broadcast>(node.node->op); };
  EXPECT_EQ(std::ranges::count_if(drawn.nodes, is_broadcast), 2);
}

TEST(DrawnGraph, EdgesBetweenStepsOfModelsAreWhatOneOfThemComputes) {
  for (const char* name : {"bert_base", "unet", "lstm_lm", "gpt2"}) {
    EXPECT_EQ(untrue_edge(lowered(find_model(name).build().graph)), "") << name;
  }
}

TEST(DrawnGraph, OperandsStandBeforeUsersAndOutputsAreThere) {
  const compiler::Lowered program = lowered(find_model("mlp").build().graph);
  const DrawnGraph graph = drawn_graph(program);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const DrawnValue& operand : graph.nodes[i].operands) {
      EXPECT_LT(operand.from, i);
    }
  }
  ASSERT_EQ(graph.outputs.size(), 1U);
  ASSERT_TRUE(graph.outputs[0].has_value());
  EXPECT_TRUE(graph.nodes[graph.outputs[0]->from].step.has_value());
}

}  // namespace
}  // namespace tenon::report::drawn_graph_test
