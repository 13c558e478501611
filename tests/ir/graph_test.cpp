#include "tenon/graph.h"

#include "ir/walk.h"
#include "shape/constraint_set.h"
#include "support/arrays.h"
#include "tenon/ops.h"

namespace tenon::graph_test {
namespace {

Graph two_layers(const char* name) {
  const Value x = input("x", shape(f32, "batch", 8));
  const Value w = input("w", shape(f32, 8, 4));
  return {name, {x, w}, {{"y", relu(matmul(x, w))}}};
}

TEST(Graph, EqualityIsStructural) {
  EXPECT_TRUE(two_layers("g") == two_layers("g"));
  EXPECT_EQ(two_layers("g").hash(), two_layers("g").hash());
  EXPECT_FALSE(two_layers("g") == two_layers("h"));
  const Value x = input("x", shape(f32, "batch", 8));
  const Value w = input("w", shape(f32, 8, 4));
  EXPECT_FALSE(two_layers("g") == Graph("g", {x, w}, {{"y", tanh(matmul(x, w))}}));
  EXPECT_FALSE(two_layers("g") == Graph("g", {w, x}, {{"y", relu(matmul(x, w))}}));
}

TEST(Graph, EqualCompositesAreOneNode) {
  const Value x = input("x", shape(f32, "batch"));
  const auto twice = [&] {
    return composite("twice", {x}, [](const std::vector<Value>& in) { return in[0] + in[0]; });
  };
  EXPECT_EQ(twice(), twice());
}

TEST(Graph, RefusesWhatIsNotAFunction) {
  const Value x = input("x", shape(f32, 4));
  const Value y = input("y", shape(f32, 4));
  EXPECT_EQ(error_text([&] { Graph({x}, {{"z", x + y}}); }),
            "graph `main`: the outputs need input `y`: f32[4], which is not among the graph's inputs");
  EXPECT_EQ(error_text([&] { Graph({x, x}, {{"z", x}}); }), "graph `main`: two inputs are called `x`");
  EXPECT_EQ(error_text([&] { Graph({exp(x)}, {{"z", x}}); }), "graph `main`: an input must be made by input()");
  EXPECT_EQ(error_text([&] { Graph({x}, {{"z", x}, {"z", x}}); }),
            "graph `main`: outputs need names that differ; `z` does not");
  EXPECT_EQ(error_text([&] { Graph({x}, {{"z", Value()}}); }), "graph `main`: output `z` is an empty Value");
  EXPECT_EQ(error_text([&] { Graph({x}, {{"z", cast(x, f64), 0}}); }),
            "graph `main`: output `z` is f64[4] and cannot take over the memory of input `x`, which is f32[4]");
  EXPECT_NE(error_text([&] { GraphSet{{two_layers("a")}}.at("b"); }).find("there is: a"), std::string::npos);
}

TEST(Graph, AnEmptyOneIsAnError) {
  EXPECT_EQ(error_text([] { (void)Graph().name(); }), "an empty Graph has nothing in it");
  EXPECT_NE(error_text([] { call(Graph(), {}); }), "no error");
}

TEST(Graph, AStaticNamedAxisFixesTheNameEverywhere) {
  const Value a = input("a", shape(f32, "hidden=768"));
  const Value b = input("b", shape(f32, "hidden"));
  const Graph graph({a, b}, {{"c", a + b}});
  EXPECT_EQ(graph.outputs()[0].value.shape().to_string(), "f32[hidden=768]");
  EXPECT_EQ(graph.constraints().representative("hidden"), Extent(768));
  const Value c = input("c", shape(f32, "hidden=512"));
  const std::string error = error_text([&] { Graph({b, a, c}, {{"x", a + b}, {"y", b + c}}); });
  EXPECT_NE(error.find("768"), std::string::npos) << error;
  EXPECT_NE(error.find("512"), std::string::npos) << error;
}

TEST(Graph, ConstraintsOfBodiesCount) {
  const Value x = input("x", shape(f32, "n"));
  const Value y = composite("pairs", {x}, [](const std::vector<Value>& in) { return reshape(in[0], {-1, 2}); });
  const Graph graph({x}, {{"y", y}});
  EXPECT_FALSE(graph.constraints().added().empty());
}

TEST(Walk, OperandsComeBeforeUsersAndOnce) {
  const Value x = input("x", shape(f32, 2));
  const Value a = exp(x);
  const Value y = a + a * x;
  const auto order = topological_order(std::vector<Value>{y});
  EXPECT_EQ(order.size(), 4u);
  EXPECT_EQ(order.front(), &x.node());
  EXPECT_EQ(order.back(), &y.node());
}

}  // namespace
}  // namespace tenon::graph_test
