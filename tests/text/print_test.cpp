// What the text of a graph looks like.
#include <gtest/gtest.h>

#include "support/error_text.h"
#include "tenon/ops.h"
#include "tenon/text.h"

namespace tenon::print_test {
namespace {

Value softmax_of_rows(const Value& x) {
  return composite("softmax", {x}, [](const std::vector<Value>& in) {
    const Value e = exp(in[0] - reduce_max(in[0], {1}, true));
    return e / reduce_sum(e, {1}, true);
  });
}

TEST(Print, Graph) {
  const Value x = input("x", shape(f32, "batch", 512));
  const Value w = input("w", shape(f32, 512, 10));
  const Value state = input("state", shape(f32, "batch", 10));
  const Value y = [&] {
    const Place place("/layers.0/MatMul");
    return matmul(x, w);
  }();
  const Graph graph("main", {x, w, state}, {{"y", softmax_of_rows(y)}, {"new_state", relu(y), 2}},
                    {parse_constraint("batch multiple of 8")});
  EXPECT_EQ(to_text(graph), R"(graph softmax(x0: f32[batch, 10]) {
  %0: f32[batch] = reduce(x0, op=max, axes=[1])
  %1: f32[batch, 1] = reshape(%0, to=[batch, 1])
  %2: f32[batch, 10] = broadcast(%1, to=[batch, 10], axes=[0, 1])
  %3: f32[batch, 10] = sub(x0, %2)
  %4: f32[batch, 10] = exp(%3)
  %5: f32[batch] = reduce(%4, op=sum, axes=[1])
  %6: f32[batch, 1] = reshape(%5, to=[batch, 1])
  %7: f32[batch, 10] = broadcast(%6, to=[batch, 10], axes=[0, 1])
  %8: f32[batch, 10] = div(%4, %7)
  return y=%8
}
graph main(x: f32[batch, 512], w: f32[512, 10], state: f32[batch, 10]) {
  %0: f32[batch, 10] = contract(x, w, lhs_contract=[1], rhs_contract=[0]) @"/layers.0/MatMul"
  %1: f32[batch, 10] = call(%0, body=softmax)
  %2: f32[batch, 10] = relu(%0)
  where batch multiple of 8
  return y=%1, new_state=%2 aliases state
}
)");
}

/// The statements for `value`, without types.
std::string statements(const Value& value, std::vector<Value> inputs) {
  const std::string text = to_text(Graph(std::move(inputs), {{"y", value}}), {.types = false});
  const size_t begin = text.find("{\n") + 2;
  return text.substr(begin, text.find("  return") - begin);
}

TEST(Print, FieldsThatSayNothingAreLeftOut) {
  const Value x = input("x", shape(f32, "n", 8));
  EXPECT_EQ(statements(reduce_sum(x, {0}), {x}), "  %0 = reduce(x, op=sum, axes=[0])\n");
  EXPECT_EQ(statements(concat({x, x}, 0), {x}), "  %0 = concat(x, x, axis=0)\n");
  EXPECT_EQ(statements(iota(shape(i64, "n")), {}), "  %0 = iota(i64[n], axis=0)\n");
  EXPECT_EQ(statements(pad(x, {0, 1}, {0, 1}), {x}), "  %0 = pad(x, low=[0, 1], high=[0, 1], mode=constant)\n");
  EXPECT_EQ(statements(cast(x, f16), {x}), "  %0 = cast(x, f16)\n");
  EXPECT_EQ(statements(scalar(i32, 3), {}), "  %0 = constant(i32[] {3})\n");
  EXPECT_EQ(statements(update_slice(x, reshape(iota(shape(f32, 8)), {1, 8}), {0, 0}), {x}),
            "  %0 = iota(f32[8], axis=0)\n"
            "  %1 = reshape(%0, to=[1, 8])\n"
            "  %2 = update(x, %1, path=[slice(start=[0, 0], size=[1, 8], step=[1, 1])])\n");
}

TEST(Print, OperationsWithSeveralResults) {
  const Value x = input("x", shape(f32, 2));
  const Value y = input("y", shape(i32, 3));
  const std::vector<Value> both = barrier({x, y});
  const std::string text = to_text(Graph({x, y}, {{"b", both[1]}, {"a", both[0]}}));
  EXPECT_NE(text.find("  %0, %1: f32[2], i32[3] = barrier(x, y)\n  return b=%1, a=%0\n"), std::string::npos) << text;
}

TEST(Print, NamesThatAreNoIdentifiersStandInBackticks) {
  const Value x = input("a b", shape(f32, "`the axis`", "max.1"));
  const std::string text = to_text(Graph("x:y", {x}, {{"`", exp(x)}}));
  EXPECT_EQ(text,
            "graph `x:y`(`a b`: f32[`the axis`, max.1]) {\n"
            "  %0: f32[`the axis`, max.1] = exp(`a b`)\n"
            "  return `\\``=%0\n"
            "}\n");
}

TEST(Print, LongConstantsMayBeLeftOut) {
  const Value c = constant(Array::full(f32, {10}, 1));
  const Graph graph({}, {{"y", c}, {"one", scalar(f32, 1)}});
  const std::string text = to_text(graph, {.max_constant_elements = 0});
  EXPECT_NE(text.find("constant(f32[10] {...})"), std::string::npos) << text;
  EXPECT_NE(text.find("constant(f32[] {1})"), std::string::npos) << text;
  EXPECT_NE(error_text([&] { parse_graph(text); }).find("were left out when it was printed"), std::string::npos);
}

TEST(Print, TypesAndPlacesMayBeLeftOut) {
  const Value x = input("x", shape(f32, 2));
  const Place place("here");
  const Graph graph({x}, {{"y", exp(x)}});
  EXPECT_EQ(to_text(graph, {.types = false, .places = false}),
            "graph main(x: f32[2]) {\n  %0 = exp(x)\n  return y=%0\n}\n");
}

TEST(Print, DifferentBodiesOfOneNameGetLabels) {
  const Value x = input("x", shape(f32, 2));
  const auto twice = [](const std::vector<Value>& in) { return in[0] + in[0]; };
  const auto square = [](const std::vector<Value>& in) { return in[0] * in[0]; };
  const Value y = composite("f", {composite("f", {x}, twice)}, square);
  const std::string text = to_text(Graph({x}, {{"y", y}}));
  EXPECT_NE(text.find("graph f(x0"), std::string::npos) << text;
  EXPECT_NE(text.find("graph f.1 as f(x0"), std::string::npos) << text;
  EXPECT_NE(text.find("%0: f32[2] = call(x, body=f)\n"), std::string::npos) << text;
  EXPECT_NE(text.find("%1: f32[2] = call(%0, body=f.1)\n"), std::string::npos) << text;
}

TEST(Print, EmptyGraphIsAnError) {
  EXPECT_EQ(error_text([] { to_text(Graph()); }), "an empty Graph has no text");
}

}  // namespace
}  // namespace tenon::print_test
