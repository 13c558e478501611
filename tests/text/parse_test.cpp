// Text that people write: operations inside each other, numbers, builders.
#include <gtest/gtest.h>

#include <cmath>

#include "tenon/error.h"
#include "tenon/nn.h"
#include "tenon/ops.h"
#include "tenon/text.h"

namespace tenon::parse_test {
namespace {

/// The graph main(x: f32[batch, 8], y: f32[8], i: i64[seq]) with these statements.
Graph parsed(const std::string& statements) {
  return parse_graph("graph main(x: f32[batch, 8], y: f32[8], i: i64[seq]) {\n" + statements + "\n}\n");
}

class Parse : public testing::Test {
 protected:
  Value x = input("x", shape(f32, "batch", 8));
  Value y = input("y", shape(f32, 8));
  Value i = input("i", shape(i64, "seq"));

  /// The graph that the C++ builders give.
  Graph built(const Value& z) const { return Graph({x, y, i}, {{"z", z}}); }
};

TEST_F(Parse, OperationsInsideEachOther) {
  EXPECT_EQ(parsed("z = exp(transpose(x, [1, 0]))\nreturn z"), built(exp(transpose(x))));
  EXPECT_EQ(parsed("return z=exp(transpose(x))"), built(exp(transpose(x))));
}

TEST_F(Parse, ElementwiseFunctionsBroadcastAndTakeNumbers) {
  EXPECT_EQ(parsed("z = add(x, y)\nreturn z"), built(x + y));
  EXPECT_EQ(parsed("z = clamp(x, -1.5e-3, inf)\nreturn z"), built(clamp(x, -1.5e-3, HUGE_VAL)));
  EXPECT_EQ(parsed("z = select(lt(0, x), x, 2)\nreturn z"), built(select(lt(0, x), x, 2)));
  EXPECT_EQ(parsed("z = add(cast(i, dtype=f32), 1)\nreturn z"), built(cast(i, f32) + 1));
  EXPECT_EQ(parsed("z = add(cast(x, f64), cast(0.5, f64))\nreturn z"), built(cast(x, f64) + scalar(f64, 0.5)));
}

TEST_F(Parse, BuildersOfTheCatalog) {
  EXPECT_EQ(parsed("z = matmul(x, reshape(y, [8, 1]))\nreturn z"), built(matmul(x, reshape(y, {8, 1}))));
  EXPECT_EQ(parsed("z = reduce_mean(x, axes=[-1], keep=true)\nreturn z"), built(reduce_mean(x, {-1}, true)));
  EXPECT_EQ(parsed("z = slice_axis(x, 0, 1)\nreturn z"), built(slice_axis(x, 0, 1)));
  EXPECT_EQ(parsed("z = slice_axis(x, axis=1, begin=-3, step=2, end=batch)\nreturn z"),
            built(slice_axis(x, 1, -3, Extent::name("batch"), 2)));
  EXPECT_EQ(parsed("z = slice_axis(x, 1, 0, none, 2)\nreturn z"), built(slice_axis(x, 1, 0, {}, 2)));
  EXPECT_EQ(parsed("z = layer_norm(x, none, bias=none)\nreturn z"), built(layer_norm(x)));
  EXPECT_EQ(parsed("z = pad(x, [0, 1], [0, batch], mode=edge)\nreturn z"),
            built(pad(x, {0, 1}, {0, Extent::name("batch")}, "edge")));
  EXPECT_EQ(parsed("z = reshape(x, [-1, 2])\nreturn z"), built(reshape(x, {-1, 2})));
  EXPECT_EQ(parsed("z = take(x, i, axis=1)\nreturn z"), built(take(x, i, 1)));
  EXPECT_EQ(parsed("z = full(i8[batch, hidden=4], 3)\nreturn z"), built(full(shape(i8, "batch", "hidden=4"), 3)));
  EXPECT_EQ(parsed("z = extent_value(2*batch+1)\nreturn z"), built(extent_value(Extent::parse("2*batch+1"))));
  EXPECT_EQ(parsed("z = contract(x, y, lhs_contract=[-1], rhs_contract=[0])\nreturn z"),
            built(contract(x, y, {.lhs_contract = {-1}, .rhs_contract = {0}})));
}

TEST_F(Parse, ListsOfOperandsWithAndWithoutBrackets) {
  EXPECT_EQ(parsed("z = concat([x, x], axis=0)\nreturn z"), built(concat({x, x}, 0)));
  EXPECT_EQ(parsed("z = concat(x, exp(x), x, axis=-1)\nreturn z"), built(concat({x, exp(x), x}, -1)));
  EXPECT_EQ(parsed("z = concat([x, x], 1)\nreturn z"), built(concat({x, x}, 1)));
}

TEST_F(Parse, NumberedStatementsMakeExactlyTheNode) {
  EXPECT_EQ(parsed("z = transpose(x, [0, 1])\nreturn z"), built(x));
  const Graph exact = parsed("%0: f32[batch, 8] = transpose(x, axes=[0, 1])\nreturn z=%0");
  EXPECT_NE(exact, built(x));
  EXPECT_EQ(exact.nodes().size(), 4U);
}

TEST_F(Parse, SeveralResults) {
  const std::vector<Value> both = barrier({x, y});
  EXPECT_EQ(parsed("a, b: f32[batch, 8], f32[8] = barrier(x, y)\nz = add(a, b)\nreturn z"), built(both[0] + both[1]));
}

TEST_F(Parse, WordsOfTheLanguageAreNamesToo) {
  const Graph graph = parse_graph(
      "graph graph(where: f32[max.1], inf: f32[max.1]) {\n"
      "  return = add(where, inf)\n"
      "  aliases = exp(return)\n"
      "  return aliases=aliases aliases where\n"
      "}");
  EXPECT_EQ(graph.name(), "graph");
  EXPECT_EQ(graph.outputs()[0].name, "aliases");
  EXPECT_EQ(graph.outputs()[0].aliases, 0);
}

TEST_F(Parse, CommentsAndLineBreaks) {
  EXPECT_EQ(parsed("# first\nz = add(  # left and right\n  x,\n  y)  # done\nreturn z # the end"), built(x + y));
}

TEST(ParseModule, KeepsGraphsThatNoOtherCalls) {
  const std::string text =
      "graph f(x: f32[2]) { return y=exp(x) }\n"
      "graph g(x: f32[2]) { return y=call(x, body=f) }\n"
      "entry graph h(x: f32[2]) { return y=log(x) }\n"
      "graph k(x: f32[2]) { return y=call(x, body=h) }\n";
  const GraphSet module = parse_graphs(text);
  ASSERT_EQ(module.graphs.size(), 3U);
  EXPECT_EQ(module.graphs[0].name(), "g");
  EXPECT_EQ(module.graphs[1].name(), "h");
  EXPECT_EQ(module.graphs[2].name(), "k");
  EXPECT_EQ(parse_graph(text), module.at("k"));
  EXPECT_TRUE(parse_graphs("").graphs.empty());
}

TEST(ParseModule, NamesUnifyOnlyWhereTheTextSaysSo) {
  const std::string text = "graph f(a: f32[batch], b: f32[time]) { return y=add(a, b) }\n";
  EXPECT_THROW(parse_graphs(text), Error);
  EXPECT_EQ(parse_graphs("names unify\n" + text).graphs.size(), 1U);
  EXPECT_THROW(parse_graphs(text), Error);
}

TEST(ParsePlaces, GoIntoTheNodes) {
  const Graph graph = parse_graph("graph f(a: f32[3]) {\n  b = exp(a) @\"x \\\"y\\\"\\n\"\n  return b\n}\n");
  EXPECT_NE(to_text(graph).find("= exp(a) @\"x \\\"y\\\"\\n\"\n"), std::string::npos) << to_text(graph);
}

}  // namespace
}  // namespace tenon::parse_test
