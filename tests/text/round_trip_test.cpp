// parse_graph(to_text(graph)) == graph, for every kind, dtype and name.
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <limits>

#include "ir/node.h"
#include "ir/unify_names.h"
#include "ops/make.h"
#include "ops/scalar/scalar_table.h"
#include "support/arrays.h"
#include "tenon/ops.h"
#include "tenon/text.h"
#include "text/field_parse.h"
#include "text/field_print.h"

namespace tenon::round_trip_test {
namespace {

void expect_round_trip(const Graph& graph) {
  const std::string text = to_text(graph);
  try {
    const Graph back = parse_graph(text);
    EXPECT_EQ(back, graph) << text;
    EXPECT_EQ(to_text(back), text);
    EXPECT_EQ(parse_graph(to_text(graph, {.types = false, .places = false})), graph) << text;
  } catch (const Error& error) {
    ADD_FAILURE() << error.what() << "\n" << text;
  }
}

void expect_round_trip(std::vector<Value> inputs, const std::vector<Value>& outputs) {
  std::vector<Output> named;
  for (const Value& value : outputs) {
    named.push_back({"y" + std::to_string(named.size()), value});
  }
  expect_round_trip(Graph(std::move(inputs), std::move(named)));
}

TEST(RoundTrip, EveryRowOfTheScalarTableOnEveryDtype) {
  for (const ScalarFn* fn : scalar_table()) {
    for (const Dtype dtype : all_dtypes()) {
      if (!contains(fn->domain, dtype)) {
        continue;
      }
      const Value x = input("x", shape(dtype, "batch", 4));
      const Value condition = input("c", shape(boolean, "batch", 4));
      if (fn->result == ResultRule::given) {
        expect_round_trip({x}, {cast(x, f16), cast(x, boolean), make(Map{.fn = fn, .dtype = dtype}, {x})});
        continue;
      }
      std::vector<Operand> operands(static_cast<size_t>(fn->arity), x);
      if (fn->name == "select") {
        operands[0] = condition;
      }
      expect_round_trip({x, condition}, {map(fn->name, operands)});
    }
  }
}

TEST(RoundTrip, EveryKindOfNode) {
  const Value x = input("x", shape(f32, "batch", "seq", 8));
  const Value w = input("w", shape(f32, 8, "hidden=16"));
  const Value flags = input("flags", shape(boolean, "batch"));
  const Value i = input("i", shape(i32, "batch", 3));
  const Extent seq = Extent::name("seq");
  expect_round_trip(
      {x, w, flags, i},
      {matmul(x, w),
       contract(x, x, {.lhs_batch = {0}, .rhs_batch = {0}, .lhs_contract = {2}, .rhs_contract = {2}}),
       contract(cast(x, i8), cast(w, i8), {.lhs_contract = {2}, .rhs_contract = {0}}, i32),
       reduce_sum(x),
       reduce_product(x, {0, 2}),
       reduce_max(x, {1}),
       reduce_min(x, {-1}, true),
       reduce_mean(x, {2}),
       reduce_any(flags),
       reduce_all(flags),
       argmax(x, 1),
       argmax(x),
       argmin(x, 2, true),
       reshape(x, {"batch", seq * 8}),
       reshape(x, {-1}),
       transpose(x),
       transpose(x, {0, 2, 1}),
       broadcast(x, {"batch", 5, "seq", 8}, {0, 2, 3}),
       broadcast_to(w, {7, 8, "hidden=16"}),
       slice(x, {0, 0, 1}, {Extent::name("batch"), 0, 3}, {1, 1, 2}),
       slice_axis(x, 1, 1, seq - 1),
       slice_axis(x, 2, 6, 1, -2),
       pad(x, {0, 1, 0}, {0, seq, 2}),
       pad(w, {1, 0}, {2, 0}, "reflect"),
       pad(w, {1, 0}, {2, 0}, "constant", -0.0),
       pad(cast(w, i64), {1, 0}, {0, 0}, "constant", 7),
       flip(x, {0, 2}),
       flip(x, {1}),
       concat({x, x, exp(x)}, 1),
       concat({w, w}, -1),
       take(w, i),
       take(x, i, 1),
       gather(x, {i}, {.axes = {1}, .x_batch = {0}, .index_batch = {0}}),
       gather(x, {i, i}, {.axes = {2, 1}}),
       update_slice(x, full(shape(f32, "batch", 2, 8), 1), {0, 3, 0}),
       make(Update{{Transpose{{1, 0}}, Slice{{0, 0}, {16, 1}, {1, 1}}, Flip{{0}}, Reshape{{"hidden=16"}}}},
            {w, full(shape(f32, "hidden=16"), 2)}),
       iota(shape(i64, "batch", 4), 1, seq, 2),
       iota(shape(f16, "batch")),
       extent_value(seq * seq + 1, u16),
       constant(Array::from<float>({2, 2}, {1, 2, 3, 4})),
       barrier({x, w})[1],
       barrier({x})[0],
       barrier({x})[0]});
}

TEST(RoundTrip, NodesThatBuildersWouldNotMake) {
  const Value x = input("x", shape(f32, "batch", 4));
  const Value one = input("one", shape(f32, 4));
  expect_round_trip(
      {x, one}, {make(Transpose{{0, 1}}, {x}), make(Reshape{{"batch", 4}}, {x}), make(Flip{}, {x}),
                 make(Concat{0}, {x}), make(Reduce{ReduceOp::max, {}}, {x}), make(Reduce{ReduceOp::sum, {1, 0}}, {x}),
                 make(Broadcast{{4}, {0}}, {one}), make(Update{}, {x, x}), make(Reshape{{}}, {scalar(f32, 1)})});
}

/// An array of `dtype` with the bits of each of `words`, cut to its size.
Array from_bits(Dtype dtype, const std::vector<uint64_t>& words) {
  Array array(dtype, {static_cast<int64_t>(words.size())});
  std::byte* to = array.mutable_data();
  for (uint64_t word : words) {
    word = dtype == boolean ? word & 1 : word;
    std::memcpy(to, &word, byte_size(dtype));
    to += byte_size(dtype);
  }
  return array;
}

TEST(RoundTrip, ConstantsToTheBit) {
  // All values of 8 bits, corners of the others: infinities, NaNs with and without payload, zeros of both signs,
  // denormals, extremes.
  std::vector<uint64_t> words = {0, 1, ~uint64_t{0}, uint64_t{1} << 63, (uint64_t{1} << 63) - 1};
  for (uint64_t i = 0; i < 256; ++i) {
    words.push_back(i);
  }
  for (const uint64_t high :
       {0x7c00U, 0x7e00U, 0x7e01U, 0xfe00U, 0x7f80U, 0x7fc0U, 0xffc1U, 0x8000U, 0x7bffU, 0x3555U}) {
    words.insert(words.end(), {high, high << 16, (high << 16) + 1, high << 48, (high << 48) + 1});
  }
  for (const uint64_t high : {0x7ff0U, 0x7ff8U, 0xfff8U, 0x7fefU, 0x3fd5U, 0x000fU}) {
    words.insert(words.end(), {high << 48, (high << 48) + 1, (high << 48) + 0x555555555555U});
  }
  std::mt19937_64 rng(1);
  for (int i = 0; i < 100; ++i) {
    words.push_back(rng());
  }
  for (const Dtype dtype : all_dtypes()) {
    const Array array = from_bits(dtype, words);
    const Graph graph({}, {{"y", constant(array)}});
    const Graph back = parse_graph(to_text(graph));
    EXPECT_TRUE(same(back.outputs()[0].value.node().as<Constant>()->value, array)) << name(dtype);
    expect_round_trip({}, {constant(Array(dtype, {})), constant(Array(dtype, {0})), constant(Array(dtype, {2, 0, 3})),
                           constant(Array(dtype, {1, 1, 2}))});
  }
}

TEST(RoundTrip, Names) {
  for (const std::string name :
       {"x", "x.0", "max", "a b", "%0", "`", "\\", "a\nb", "é", "\"", "return", "0", "#", "f32"}) {
    const Value x = input(name, Shape(f32, {Axis(Extent::name(name)), Axis(Extent::name("other " + name) + 1)}));
    const Value y = input("y of " + name, x.shape());
    const Place place(name);
    expect_round_trip(Graph(name, {x, y}, {{name, x + y, 0}, {"same", x}, {"second " + name, exp(x)}},
                            {{Constraint::Kind::at_least, Extent::name(name), 3}}));
    expect_round_trip({x}, {composite(name, {x}, [](const std::vector<Value>& in) { return relu(in[0]); })});
  }
  expect_round_trip(Graph("", {}, {}));
}

TEST(RoundTrip, InputsThatAreNotUsedAndOutputsThatAreInputs) {
  const Value x = input("x", shape(f32, -1, "hidden=768", "seq+1", 0));
  const Value y = input("y", shape(f64));
  expect_round_trip(Graph({y, x}, {{"b", x}, {"a", x}}));
  expect_round_trip(Graph({y, x}, {}));
}

TEST(RoundTrip, AliasesAndRelations) {
  const Value x = input("x", shape(f32, "out", "b"));
  const Value state = input("state", shape(f32, "out", "b"));
  std::vector<Constraint> relations;
  for (const char* text : {"out = in - kernel + 1", "b multiple of 8", "in >= 4", "b <= 64", "b broadcasts to 16",
                           "(in+7) floordiv 8 == max(b, 3)"}) {
    relations.push_back(parse_constraint(text));
  }
  expect_round_trip(Graph("step", {x, state}, {{"y", exp(x)}, {"state", state + x, 1}, {"z", x, 0}}, relations));
}

TEST(RoundTrip, AxesThatAreOnlyEqualWhenBound) {
  const Value a = input("a", shape(f32, "n", 8));
  const Value b = input("b", shape(f32, "seq+1", "m"));
  const Value c = input("c", shape(f32, -1, -1));
  expect_round_trip({a, b, c}, {a + b, a * c, c / b, matmul(a, transpose(c)), concat({a, c}, 0)});
}

TEST(RoundTrip, NamesThatUnify) {
  const Value a = input("a", shape(f32, "batch"));
  const Value b = input("b", shape(f32, "time"));
  const Graph graph = [&] {
    const UnifyNames unify;
    return Graph({a, b}, {{"y", a + b}, {"z", b * a}, {"d", matmul(a, b)}});
  }();
  EXPECT_TRUE(to_text(graph).starts_with("names unify\n"));
  expect_round_trip(graph);
}

TEST(RoundTrip, CompositesShareTheirBodies) {
  const Value x = input("x", shape(f32, "batch", 4));
  const auto twice = [](const std::vector<Value>& in) { return in[0] + in[0]; };
  const auto nested = [&](const std::vector<Value>& in) { return composite("twice", {exp(in[0])}, twice); };
  Value y = composite("twice", {x}, twice);
  for (int i = 0; i < 3; ++i) {
    y = composite("twice", {composite("nested", {y}, nested)}, twice);
  }
  // Two further bodies of one name, one of them of a name that a label might take.
  y = composite("twice", {y}, [](const std::vector<Value>& in) { return in[0] * 2; });
  y = composite("twice.1", {y}, twice);
  const Graph graph("twice", {x}, {{"y", y}});
  const std::string text = to_text(graph);
  size_t graphs = 0;
  for (size_t at = text.find("graph "); at != std::string::npos; at = text.find("\ngraph ", at + 1)) {
    ++graphs;
  }
  EXPECT_EQ(graphs, 5U) << text;
  expect_round_trip(graph);
}

TEST(RoundTrip, Modules) {
  const Value x = input("x", shape(f32, "batch"));
  const Graph step("step", {x}, {{"y", exp(x)}});
  const Graph prefill("prefill", {x}, {{"y", call(step, {call(step, {x})[0]})[0]}});
  const Graph decode("decode", {x}, {{"y", log(x)}});
  const GraphSet module{{prefill, decode, step}};
  const std::string text = to_text(module);
  EXPECT_NE(text.find("entry graph step("), std::string::npos) << text;
  const GraphSet back = parse_graphs(text);
  EXPECT_EQ(back.graphs.size(), 3U);
  for (const Graph& graph : module.graphs) {
    EXPECT_EQ(back.at(graph.name()), graph);
  }
  EXPECT_EQ(to_text(back), text);
}

TEST(RoundTrip, ADeepChain) {
  const auto start = std::chrono::steady_clock::now();
  const Value x = input("x", shape(f32, "batch", 4));
  Value y = x;
  for (int i = 0; i < 50'000; ++i) {
    y = relu(y) + x;
  }
  const Graph graph({x}, {{"y", y}});
  const std::string text = to_text(graph);
  const auto printed = std::chrono::steady_clock::now();
  const Graph back = parse_graph(text);
  const auto seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - printed).count();
  EXPECT_EQ(back.nodes().size(), 100'001U);
  EXPECT_TRUE(back == graph);
  RecordProperty("print_seconds", std::to_string(std::chrono::duration<double>(printed - start).count()));
  RecordProperty("parse_seconds", std::to_string(seconds));
}

TEST(RoundTrip, ALargeConstant) {
  std::mt19937_64 rng(2);
  const Array large = random_array(f32, {1000, 300}, rng);
  const Graph back = parse_graph(to_text(Graph({}, {{"y", constant(large)}})));
  EXPECT_TRUE(same(back.outputs()[0].value.node().as<Constant>()->value, large));
}

// Fields of every kind, those included that no builder makes yet.

Op reread(const Op& op, const text::GraphLabels& labels, text::GraphTable& graphs) {
  const PrintOptions options;
  std::string fields = "(";
  text::FieldPrinter printer{fields, options, labels};
  text::print_fields(printer, op, true);
  fields += ')';
  const text::TokenList tokens = text::lex(fields);
  text::Cursor cursor(tokens);
  text::Arguments arguments(cursor.take_bracketed('('));
  Op back = *text::kind_called<Op>(kind_info(op).name);
  text::parse_fields(cursor, arguments, graphs, back);
  return back;
}

TEST(RoundTrip, FieldsOfEveryKind) {
  const Value x = input("x", shape(f32, 2));
  const Graph body("the body", {x}, {{"y", exp(x)}});
  const Graph other("other", {x}, {{"y", log(x)}});
  text::GraphLabels labels;
  text::GraphTable graphs;
  for (const Graph& graph : {body, other}) {
    labels.add(graph);
    graphs.add(graph.name(), graph);
  }
  const Extent n = Extent::name("n");
  const std::vector<Op> ops = {
      Input{"a \"name\"\n", shape(u8, "n", "m=3")},
      Constant{Array::from<double>({3}, {1, -0.0, 1e300})},
      Iota{},
      Iota{shape(f32, n, n + 1), 1, n * 2, -n},
      Random{shape(u64, "n")},
      Map{&scalar_fn("relu"), f16},
      Reduce{ReduceOp::argmin, {3}},
      Window{},
      Window{ReduceOp::max, {1, 3}, {1, 2}, {1, 1}, {0, n}, {0, n - 1}},
      Contract{},
      Contract{{0}, {1}, {1, 2}, {0, 2}, bf16},
      Conv{},
      Conv{{2, 2}, {1, 1}, {2, 1}, {-1, n}, {0, 0}, 8},
      Reshape{{"n", "m=2*n"}},
      Transpose{{2, 0, 1}},
      Broadcast{{"n", 4}, {1}},
      Slice{{n, 0}, {max(n, 1), 2}, {1, 5}},
      Pad{},
      Pad{{1}, {n}, PadMode::wrap, Array::scalar(u64, 7)},
      Flip{{0}},
      Concat{-7},
      Gather{{0}, {1}, {2}},
      Scatter{},
      Scatter{ScatterOp::max, {0}, {1}, {2}},
      Update{},
      Update{{Flip{{1}}, Pad{{1}, {1}, PadMode::edge, Array()}, Slice{{0}, {n}, {1}}}},
      Sort{},
      Sort{1, true},
      Scan{},
      Scan{ReduceOp::product, 2, true, true},
      Call{body},
      If{body, other},
      Loop{body, n, 1, 2, true},
      Loop{body},
      Barrier{},
      Positions{},
      Positions{Extent::name("a name")},
  };
  std::vector<bool> seen(std::variant_size_v<AnyKind>, false);
  for (const Op& op : ops) {
    seen[op.index()] = true;
    EXPECT_TRUE(same_structure(reread(op, labels, graphs), op)) << kind_info(op).name;
  }
  for (size_t i = 0; i < seen.size(); ++i) {
    EXPECT_TRUE(seen[i]) << "no op of kind " << text::kind_names<Op>()[i];
  }
}

}  // namespace
}  // namespace tenon::round_trip_test
