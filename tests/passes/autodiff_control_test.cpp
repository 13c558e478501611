// Gradients through calls, conditionals and loops.
#include <cmath>

#include "ir/node.h"
#include "support/arrays.h"
#include "support/finite_difference.h"
#include "tenon/autodiff.h"
#include "tenon/control.h"
#include "tenon/interpreter.h"
#include "tenon/nn.h"
#include "tenon/ops.h"
#include "tenon/text.h"

namespace tenon::passes::autodiff_control_test {
namespace {

Value x_input(const Shape& shape) { return input("x", shape); }

/// First and second derivatives at every binding; and the graph of the first reads back from its text.
void expect_derivatives(const Graph& graph, const std::vector<Bindings>& all) {
  const Graph slopes = gradient_graph(graph);
  EXPECT_EQ(parse_graph(to_text(slopes)), slopes) << to_text(slopes);
  for (const Bindings& bindings : all) {
    EXPECT_TRUE(gradients_match(graph, spaced_inputs(graph, bindings, 5, -1, 1))) << bindings.to_string();
    EXPECT_TRUE(gradients_match(slopes, spaced_inputs(slopes, bindings, 6, -1, 1), {.elements = 6}))
        << "second, " << bindings.to_string();
  }
}

template <class Kind>
std::vector<const Node*> nodes_of(const Graph& graph) {
  std::vector<const Node*> found;
  for (const Node* node : graph.nodes()) {
    if (node->as<Kind>()) {
      found.push_back(node);
    }
  }
  return found;
}

const std::vector<Bindings> kSizes = {{{"n", 0}}, {{"n", 1}}, {{"n", 3}}};

TEST(CallGradient, IsACallOfTheGradientOfTheBody) {
  const Value x = x_input(shape(f64, "n", 3));
  const Graph graph({x}, {{"y", reduce_sum(square(softmax(x)))}});
  const Graph with = differentiate(graph);
  const auto calls = nodes_of<Call>(with);
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(calls[0]->as<Call>()->body.name(), "softmax");
  EXPECT_EQ(calls[1]->as<Call>()->body.name(), "softmax_gradient");
  expect_derivatives(graph, kSizes);
}

TEST(CallGradient, TakesOnlyWhatItNeedsAndGivesOnlyWhatIsWanted) {
  const Value x = x_input(shape(f64, "n"));
  const Value i = input("i", shape(i64, "n"));
  const Value y = composite("shifted", {x, i, x * 2},
                            [](const std::vector<Value>& in) { return in[0] + cast(in[1], f64) + sin(in[2]); });
  const Graph graph({x, i}, {{"y", reduce_sum(y)}});
  const Graph derivative = differentiate(graph, {.keep_outputs = false});
  const auto calls = nodes_of<Call>(derivative);
  ASSERT_EQ(calls.size(), 1U);
  EXPECT_EQ(calls[0]->inputs.size(), 2U);  // x * 2 and the gradient
  expect_derivatives(graph, kSizes);
}

TEST(CallGradient, OfNestedComposites) {
  const Value q = input("q", shape(f64, 1, 2, "n", 4));
  const Value k = input("k", shape(f64, 1, 2, "m", 4));
  const Value v = input("v", shape(f64, 1, 2, "m", 4));
  const Graph graph({q, k, v}, {{"y", attention(q, k, v)}});
  for (const Bindings& bindings : {Bindings{{"n", 2}, {"m", 3}}, Bindings{{"n", 1}, {"m", 1}}}) {
    EXPECT_TRUE(gradients_match(graph, spaced_inputs(graph, bindings, 5), {.elements = 4}));
  }
  const Value x = x_input(shape(f64, "n", 5));
  const Value w = input("w", shape(f64, 5));
  const Value b = input("b", shape(f64, 5));
  expect_derivatives(Graph({x, w, b}, {{"y", layer_norm(x, w, b)}}), kSizes);
}

TEST(CallGradient, OfOneOfSeveralResults) {
  const Value x = x_input(shape(f64, "n"));
  const Value a = input("x0", x.shape());
  const Graph body("pair", {a},
                   {{"first", exp(a)}, {"second", a * a}, {"third", argmax(concat({a, full(shape(f64, 1), 0)}, 0))}});
  const std::vector<Value> both = call(body, {x});
  expect_derivatives(Graph({x}, {{"y", both[1]}}), kSizes);
  expect_derivatives(Graph({x}, {{"y", both[1]}, {"z", both[0] * both[1]}, {"p", both[2]}}), kSizes);
}

TEST(IfGradient, GoesThroughTheBranchThatRan) {
  const Value x = x_input(shape(f64, "n"));
  const Value w = input("w", shape(f64));
  const Value flag = input("flag", shape(boolean));
  const auto then_branch = [](const std::vector<Value>& in) {
    return std::vector<Value>{in[0] * in[1] * in[1], in[1]};
  };
  const auto else_branch = [](const std::vector<Value>& in) { return std::vector<Value>{exp(in[0]), scalar(f64, 3)}; };
  const std::vector<Value> y = if_then_else(flag, then_branch, else_branch, {x, w});
  const Graph graph({x, w, flag}, {{"y", y[0]}, {"z", y[1]}});
  const Graph slopes = gradient_graph(graph);
  for (const bool which : {false, true}) {
    for (const Bindings& bindings : kSizes) {
      std::vector<Array> inputs = spaced_inputs(graph, bindings, 5);
      inputs[2] = Array::scalar(boolean, which);
      EXPECT_TRUE(gradients_match(graph, inputs));
      inputs = spaced_inputs(slopes, bindings, 5);
      inputs[2] = Array::scalar(boolean, which);
      EXPECT_TRUE(gradients_match(slopes, inputs));
    }
  }
  EXPECT_EQ(nodes_of<If>(slopes).size(), 1U);
}

TEST(LoopGradient, OfCarriedValuesAndValuesThatStay) {
  const Value x = x_input(shape(f64, "n"));
  const Value w = input("w", shape(f64, "n"));
  for (const int trips : {0, 1, 4}) {
    const std::vector<Value> y = loop(trips, {x, full(x.shape(), 1)}, [&](const Value& i, const std::vector<Value>& c) {
      const Value scale = cast(i, f64) + 1;
      return std::vector<Value>{sin(c[0] * w) * scale + c[1], c[0] * c[1]};
    });
    expect_derivatives(Graph({x, w}, {{"y", y[0]}, {"z", y[1]}}), kSizes);
  }
}

TEST(LoopGradient, OfASymbolicNumberOfTrips) {
  const Value x = x_input(shape(f64, "time", "n"));
  const Value w = input("w", shape(f64, "n"));
  const Value start = input("start", shape(f64, "n"));
  const ScanStep y = scan({start}, {x}, [&](const Value&, const std::vector<Value>& c, const std::vector<Value>& e) {
    const Value next = tanh(c[0] * w + e[0]);
    return ScanStep{.carried = {next}, .stacked = {next * e[0]}};
  });
  const Graph graph({x, w, start}, {{"last", y.carried[0]}, {"all", y.stacked[0]}});
  expect_derivatives(
      graph, {{{"time", 0}, {"n", 2}}, {{"time", 1}, {"n", 1}}, {{"time", 5}, {"n", 2}}, {{"time", 3}, {"n", 0}}});
  // Only the last value, only the stack.
  expect_derivatives(Graph({x, w, start}, {{"last", y.carried[0]}}), {{{"time", 3}, {"n", 2}}});
  expect_derivatives(Graph({x, w, start}, {{"all", y.stacked[0]}}), {{{"time", 3}, {"n", 2}}});
}

TEST(LoopGradient, PassesIntegersBy) {
  const Value x = x_input(shape(f64, "n"));
  const std::vector<Value> y = loop(3, {x, scalar(i64, 2)}, [&](const Value&, const std::vector<Value>& c) {
    return std::vector<Value>{c[0] * cast(c[1], f64) * c[0], c[1] + 1};
  });
  expect_derivatives(Graph({x}, {{"y", y[0]}, {"count", y[1]}}), kSizes);
}

TEST(LoopGradient, StartsFromAConstant) {
  // The carried value depends on w only from the first trip on.
  const Value w = input("w", shape(f64, "n"));
  const std::vector<Value> y = loop(3, {full(w.shape(), 0.5)}, [&](const Value&, const std::vector<Value>& c) {
    return std::vector<Value>{c[0] * w + w};
  });
  expect_derivatives(Graph({w}, {{"y", y[0]}}), kSizes);
}

TEST(LoopGradient, SeesInfluenceThatTakesSeveralTrips) {
  // w reaches the first carried value by way of the third and the second.
  const Value w = input("w", shape(f64, "n"));
  const Value one = full(w.shape(), 1);
  const std::vector<Value> y = loop(4, {one, one * 2, one * 3}, [&](const Value&, const std::vector<Value>& c) {
    return std::vector<Value>{c[0] + c[1], c[1] * c[2], c[2] * w};
  });
  expect_derivatives(Graph({w}, {{"y", y[0]}}), kSizes);
}

TEST(LoopGradient, NestsInCallsConditionsAndLoops) {
  const Value x = x_input(shape(f64, "n"));
  const Value y = composite("outer", {x}, [](const std::vector<Value>& in) {
    return loop(2, {in[0]}, [](const Value& i, const std::vector<Value>& c) {
      const Value inner = loop(
          2, {c[0]}, [](const Value&, const std::vector<Value>& d) { return std::vector<Value>{sin(d[0]) + d[0]}; })[0];
      return if_then_else(
          lt(i, 1), [](const std::vector<Value>& v) { return std::vector<Value>{v[0] * v[1]}; },
          [](const std::vector<Value>& v) { return std::vector<Value>{v[0] + v[1]}; }, {inner, c[0]});
    })[0];
  });
  expect_derivatives(Graph({x}, {{"y", y}}), kSizes);
}

TEST(LoopGradient, OfAWhileLoopIsAnErrorWhereItMustFlow) {
  const Value x = x_input(shape(f64));
  const Place place("the loop");
  const std::vector<Value> y = while_loop(10, {x}, [](const Value&, const std::vector<Value>& c) {
    return WhileStep{.go_on = lt(c[0], 100), .carried = {c[0] * 2}};
  });
  const std::string text = error_text([&] { gradients(y[0], {x}); });
  EXPECT_NE(text.find("gradient of loop: a loop that ends by a condition has no known number of trips"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("at node \"the loop\""), std::string::npos) << text;
  // Nothing flows through it here.
  const Value other = input("other", shape(f64));
  EXPECT_TRUE(gradients(y[0] * other, {other})[0]);
}

}  // namespace
}  // namespace tenon::passes::autodiff_control_test
