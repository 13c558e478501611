// Conditionals and loops: results, symbolic shapes inside bodies, captures, zero trips, errors.
#include "tenon/control.h"

#include <cmath>

#include "ir/node.h"
#include "support/arrays.h"
#include "tenon/indexing.h"
#include "tenon/interpreter.h"

namespace tenon::control_test {
namespace {

using Values = std::vector<Value>;

Value in(const char* name, const char* text) { return input(name, Shape::parse(text)); }
Array flag(bool value) { return Array::from<bool>({}, {value}); }
Array number(int64_t value) { return Array::from<int64_t>({}, {value}); }

Array square(std::vector<float> values) {
  const auto n = static_cast<int64_t>(std::lround(std::sqrt(static_cast<double>(values.size()))));
  return Array::from<float>({n, n}, values);
}

TEST(If, RunsOneBranchOnSymbolicShapes) {
  const Value c = in("c", "bool[]");
  const Value x = in("x", "f32[n, 2]");
  const Value i = in("i", "i64[]");
  const auto y = if_then_else(
      c, [](const Values& v) { return Values{reduce_sum(v[0], {1}), v[0]}; },
      [](const Values& v) { return Values{take(v[0], v[1], 1), v[0] * 2}; }, {x, i});
  EXPECT_EQ(y[0].shape().to_string(), "f32[n]");
  const Graph graph({c, x, i}, {{"a", y[0]}, {"b", y[1]}});
  const Array data = Array::from<float>({2, 2}, {1, 2, 3, 4});
  auto out = interpret(graph, {flag(true), data, number(9)});  // position 9 is wrong, and nobody looks at it
  EXPECT_TRUE(same(out[0], Array::from<float>({2}, {3, 7})));
  EXPECT_TRUE(same(out[1], data));
  out = interpret(graph, {flag(false), data, number(1)});
  EXPECT_TRUE(same(out[0], Array::from<float>({2}, {2, 4})));
  EXPECT_TRUE(same(out[1], Array::from<float>({2, 2}, {2, 4, 6, 8})));
  EXPECT_NE(error_text([&] { interpret(graph, {flag(false), data, number(9)}); }).find("position 9"),
            std::string::npos);
  EXPECT_EQ(interpret(graph, {flag(false), Array(f32, {0, 2}), number(0)})[0].size(), 0);
  EXPECT_EQ(interpret(graph, {flag(true), data.cast(f32), number(0)}, {.reference = true})[0].dtype(), f64);
}

TEST(If, BothBranchesShareWhatTheyCapture) {
  const Value c = in("c", "bool[]");
  const Value x = in("x", "f32[n]");
  const Value w = in("w", "f32[n]");
  const Value both = exp(x);
  const auto y = if_then_else(
      c, [&](const Values& v) { return Values{v[0] + both}; }, [&](const Values& v) { return Values{v[0] - both + w}; },
      {x});
  const Node& node = y[0].node();
  ASSERT_EQ(node.inputs.size(), 4u);  // condition, x, exp(x), w
  EXPECT_EQ(node.inputs[2], both);
  EXPECT_EQ(node.inputs[3], w);
  const Graph graph({c, x, w}, {{"y", y[0]}});
  const Array zero = Array(f32, {3});
  EXPECT_EQ(interpret(graph, {flag(true), zero, Array::full(f32, {3}, 7)})[0].at(2), 1);
  EXPECT_EQ(interpret(graph, {flag(false), zero, Array::full(f32, {3}, 7)})[0].at(2), 6);
}

TEST(If, BranchesMustAgree) {
  const Value c = in("c", "bool[]");
  const Value x = in("x", "f32[n]");
  const auto same_thing = [](const Values& v) { return v; };
  const std::string shapes = error_text(
      [&] { if_then_else(c, same_thing, [](const Values& v) { return Values{concat({v[0], v[0]}, 0)}; }, {x}); });
  // n and 2*n agree for n == 0, so this one is a check when bound.
  EXPECT_EQ(shapes, "no error");
  EXPECT_NE(error_text([&] {
              if_then_else(c, same_thing, [](const Values& v) { return Values{pad(v[0], {0}, {1})}; }, {x});
            }).find("if: value 0 is f32[n] from `then` and f32[n+1] from `else`; both must have one shape"),
            std::string::npos);
  EXPECT_NE(error_text([&] {
              if_then_else(c, same_thing, [](const Values& v) { return Values{cast(v[0], f64)}; }, {x});
            }).find("f32[n] from `then` and f64[n] from `else`"),
            std::string::npos);
  EXPECT_NE(error_text([&] {
              if_then_else(c, same_thing, [](const Values&) { return Values{}; }, {x});
            }).find("`then` gives 1 values and `else` 0"),
            std::string::npos);
  EXPECT_NE(
      error_text([&] { if_then_else(x, same_thing, same_thing, {x}); }).find("the condition is f32[n], must be bool[]"),
      std::string::npos);
}

TEST(Loop, PowersOfAMatrixByCapture) {
  const Value a = in("a", "f32[n, n]");
  const Value like = in("like", "f32[trips]");
  const Value start = eye(a.extent(0), a.extent(0));
  const auto power = loop(Extent::name("trips"), {start, scalar(i64, 0)},
                          [&](const Value& i, const Values& v) { return Values{matmul(v[0], a), v[1] + i}; });
  EXPECT_EQ(power[0].shape().to_string(), "f32[n, n]");
  const Graph graph({a, like}, {{"power", power[0]}, {"sum", power[1]}});
  const Array fibonacci = square({1, 1, 1, 0});
  const std::vector<Array> expected = {square({1, 0, 0, 1}), fibonacci, square({34, 21, 21, 13})};
  size_t k = 0;
  for (const int64_t trips : {0, 1, 8}) {
    const auto out = interpret(graph, {fibonacci, Array(f32, {trips})});
    EXPECT_TRUE(same(out[0], expected[k++])) << trips;
    EXPECT_EQ(out[1].at(0), static_cast<double>(trips * (trips - 1)) / 2);
  }
  EXPECT_EQ(interpret(graph, {square({2}), Array(f32, {7})})[0].at(0), 128);
  EXPECT_EQ(interpret(graph, {fibonacci, Array(f32, {8})}, {.reference = true})[0].dtype(), f64);
}

TEST(Loop, NestedBodiesCaptureFromEveryLevel) {
  // y[i] = sum over j of (i * j + shift), by two loops; the inner one captures the outer iteration and an outer input.
  const Value shift = in("shift", "i64[]");
  const Value doubled = shift * 2;
  const auto outer = scan(Extent::name("rows"), {}, {}, [&](const Value& i, const Values&, const Values&) {
    const Value moved = i + doubled;  // made in the outer body from an outer value, and used in the inner one
    const auto inner = loop(Extent::name("columns"), {scalar(i64, 0)}, [&](const Value& j, const Values& sum) {
      return Values{sum[0] + i * j + moved - i - doubled + shift};
    });
    return ScanStep{{}, inner};
  });
  const Graph graph({shift}, {{"y", outer.stacked[0]}});
  EXPECT_EQ(outer.stacked[0].shape().to_string(), "i64[rows]");
  const Array y = interpret(graph, {number(3)}, {.bindings = {{"rows", 4}, {"columns", 5}}})[0];
  EXPECT_TRUE(same(y, Array::from<int64_t>({4}, {15, 25, 35, 45})));
  EXPECT_EQ(interpret(graph, {number(3)}, {.bindings = {{"rows", 0}, {"columns", 5}}})[0].size(), 0);
}

TEST(Scan, RunningSumWithShapesFromOutside) {
  const Value x = in("x", "f32[time, batch, h]");
  const Value w = in("w", "f32[h, h]");
  const Value start = full(shape(f32, "batch", "h"), 0);
  const ScanStep result = scan({start}, {x, arange(0, Extent::name("time"), 1, i64)},
                               [&](const Value&, const Values& state, const Values& element) {
                                 const Value next = matmul(state[0], w) + element[0];
                                 return ScanStep{{next}, {next * 2, element[1]}};
                               });
  EXPECT_EQ(result.stacked[0].shape().to_string(), "f32[time, batch, h]");
  const Graph graph({x, w}, {{"last", result.carried[0]}, {"all", result.stacked[0]}, {"count", result.stacked[1]}});
  for (const int64_t time : {0, 1, 7}) {
    for (const int64_t batch : {0, 1, 3}) {
      std::mt19937_64 rng(static_cast<uint64_t>(time * 10 + batch));
      const Array data = random_array(f32, {time, batch, 2}, rng);
      const Array weights = random_array(f32, {2, 2}, rng, -1, 1);
      const auto out = interpret(graph, {data, weights}, {.reference = true});
      std::vector<double> state(static_cast<size_t>(batch * 2));
      for (int64_t t = 0; t < time; ++t) {
        const std::vector<double> old = state;
        for (int64_t b = 0; b < batch; ++b) {
          for (int64_t k = 0; k < 2; ++k) {
            const auto at = static_cast<size_t>(b * 2 + k);
            const auto row = static_cast<size_t>(b * 2);
            state[at] = old[row] * weights.at(k) + old[row + 1] * weights.at(2 + k) + data.at((t * batch + b) * 2 + k);
            ASSERT_NEAR(out[1].at((t * batch + b) * 2 + k), 2 * state[at], 1e-9);
          }
        }
        ASSERT_EQ(out[2].at(t), static_cast<double>(t));
      }
      ASSERT_EQ(out[0].dims(), (std::vector<int64_t>{batch, 2}));
      for (size_t i = 0; i < state.size(); ++i) {
        ASSERT_NEAR(out[0].at(static_cast<int64_t>(i)), state[i], 1e-9);
      }
    }
  }
}

TEST(WhileLoop, EndsWhenToldOrAtTheBound) {
  const Value x = in("x", "i64[]");
  const auto steps = while_loop(Extent::name("most"), {x, scalar(i64, 0)}, [](const Value&, const Values& v) {
    const Value next = select(eq(rem(v[0], 2), 0), v[0] / 2, v[0] * 3 + 1);
    return WhileStep{ne(next, 1), {next, v[1] + 1}};
  });
  const Graph graph({x}, {{"x", steps[0]}, {"steps", steps[1]}});
  const auto run = [&](int64_t start, int64_t most) {
    return interpret(graph, {number(start)}, {.bindings = {{"most", most}}});
  };
  EXPECT_EQ(run(27, 1000)[1].at(0), 111);
  EXPECT_EQ(run(27, 10)[1].at(0), 10);
  EXPECT_EQ(run(2, 10)[1].at(0), 1);
  EXPECT_EQ(run(27, 0)[0].at(0), 27);
}

TEST(Loop, GrowthIsAnErrorThatSaysSo) {
  const Value x = in("x", "f32[n]");
  EXPECT_NE(error_text([&] {
              loop(3, {scalar(f32, 0), x}, [](const Value&, const Values& v) {
                return Values{v[0], concat({v[1], full(shape(f32, 1), 0)}, 0)};
              });
            })
                .find("loop: carried value 1 (`x`) is f32[n] and becomes f32[n+1] after a trip; the shapes of carried "
                      "values stay the same"),
            std::string::npos);
  EXPECT_NE(error_text([&] {
              loop(3, {x}, [](const Value&, const Values& v) { return Values{cast(v[0], f64)}; });
            }).find("is f32[n] and becomes f64[n]"),
            std::string::npos);
  // n and 2*n are the same for n == 0 alone: found when bound.
  const auto twice = loop(3, {x}, [](const Value&, const Values& v) { return Values{concat({v[0], v[0]}, 0)}; });
  const Graph graph({x}, {{"y", twice[0]}});
  EXPECT_EQ(interpret(graph, {Array(f32, {0})})[0].size(), 0);
  EXPECT_NE(error_text([&] { interpret(graph, {Array(f32, {2})}); }).find("loop"), std::string::npos);
}

TEST(Loop, ConstraintsOfBodiesAreCheckedWhenBound) {
  const Value x = in("x", "f32[n]");
  const auto y =
      loop(2, {x}, [](const Value&, const Values& v) { return Values{v[0] + reduce_sum(slice(v[0], {0}, {3}))}; });
  const Graph graph({x}, {{"y", y[0]}});
  EXPECT_EQ(interpret(graph, {Array::full(f32, {4}, 1)})[0].at(3), 16);  // 1 + 3, then 4 + 12
  const std::string error = error_text([&] { interpret(graph, {Array(f32, {2})}); });
  EXPECT_NE(error.find("`n` is 2"), std::string::npos) << error;
  EXPECT_NE(error.find("slice"), std::string::npos) << error;
}

TEST(Loop, OtherMistakesAreNamed) {
  const Value x = in("x", "f32[4, n]");
  EXPECT_NE(error_text([&] {
              loop(2, {x}, [](const Value&, const Values&) { return Values{}; });
            }).find("the body gives 0 carried values, must give 1"),
            std::string::npos);
  EXPECT_NE(error_text([&] {
              scan(3, {}, {x}, [](const Value&, const Values&, const Values& v) { return ScanStep{{}, v}; });
            }).find("scanned value 0 (`x`) has 4 elements along axis 0 for 3 trips"),
            std::string::npos);
  EXPECT_NE(error_text([&] {
              while_loop(3, {x}, [](const Value& i, const Values& v) { return WhileStep{i, v}; });
            }).find("gives i64[] to say whether to go on, must be bool[]"),
            std::string::npos);
  EXPECT_NE(error_text([&] { loop(-1, {x}, [](const Value&, const Values& v) { return v; }); }).find("-1 >= 0"),
            std::string::npos);
}

}  // namespace
}  // namespace tenon::control_test
