// Loops and conditionals: their bodies are compiled like everything else.
#include <gtest/gtest.h>

#include <algorithm>

#include "support/arrays.h"
#include "support/compiled.h"
#include "tenon/autodiff.h"
#include "tenon/control.h"
#include "tenon/indexing.h"
#include "tenon/interpreter.h"
#include "tenon/nn.h"

namespace tenon::bodies_test {
namespace {

using Values = std::vector<Value>;

Value in(const char* name, const char* text) { return input(name, Shape::parse(text)); }

/// A running mix of rows: carried, scanned, stacked and constant values, and the trip.
Graph mixing_loop() {
  const Value x = in("x", "f32[seq, batch, 8]");
  const Value start = in("start", "f32[batch, 8]");
  const Value w = in("w", "f32[8, 8]");
  const ScanStep result = scan({start}, {x}, [&](const Value& trip, const Values& carried, const Values& elements) {
    const Value next = tanh(matmul(carried[0], w) + elements[0] + cast(trip, f32) * 0.1);
    return ScanStep{.carried = {next}, .stacked = {next, elements[0] * 2.0}};
  });
  return Graph("mixing", {x, start, w},
               {{"last", result.carried[0]}, {"all", result.stacked[0]}, {"twice", result.stacked[1]}});
}

TEST(Bodies, LoopsMatchTheInterpreterAtEverySize) { EXPECT_TRUE(matches_every_way(mixing_loop(), {.bindings = 8})); }

TEST(Bodies, SameBitsForAnyNumberOfThreads) {
  const Graph graph = mixing_loop();
  const Executable executable = compile(graph, {.disk_cache = false, .least_shared_work = 0});
  std::mt19937_64 rng(1);
  for (const int64_t batch : {1, 300}) {
    const std::vector<Array> inputs = {random_array(f32, {5, batch, 8}, rng), random_array(f32, {batch, 8}, rng),
                                       random_array(f32, {8, 8}, rng, -0.5, 0.5)};
    EXPECT_TRUE(same_for_any_threads(executable, inputs)) << batch;
  }
}

/// A view that a step of the body reads from memory of its own, and that the body gives.
TEST(Bodies, ViewsThatAreReadAndGiven) {
  const Value a = in("a", "f32[n, 4]");
  const Value k = in("k", "f32[trips]");
  const auto result = scan({a, a}, {k}, [&](const Value&, const Values& v, const Values& e) {
    const Value turned = flip(v[0], {0});
    const auto inner = scan({turned}, {k}, [&](const Value&, const Values& w, const Values& f) {
      return ScanStep{.carried = {w[0] * 0.5 + f[0]}, .stacked = {}};
    });
    return ScanStep{.carried = {inner.carried[0] + e[0], turned}, .stacked = {turned, transpose(turned)}};
  });
  EXPECT_TRUE(matches_every_way(
      Graph({a, k},
            {{"x", result.carried[0]}, {"y", result.carried[1]}, {"s", result.stacked[0]}, {"t", result.stacked[1]}}),
      {.bindings = 6}));
}

TEST(Bodies, ViewsOfWhatIsComputed) {
  const Value a = in("a", "f32[n, 4]");
  const Value k = in("k", "f32[trips]");
  const auto result = scan({a}, {k}, [&](const Value&, const Values& v, const Values& e) {
    const Value x = v[0] * 0.5 + e[0];
    const Value y = exp(v[0] * 0.1) + e[0];
    return ScanStep{.carried = {flip(x, {1})},
                    .stacked = {transpose(x), x, transpose(y), slice(y, {0, 1}, {Extent::name("n"), 2}),
                                reshape(y, {4 * Extent::name("n")})}};
  });
  std::vector<Output> outputs = {{"last", result.carried[0]}};
  for (const Value& value : result.stacked) {
    outputs.push_back({.name = "s" + std::to_string(outputs.size()), .value = value});
  }
  EXPECT_TRUE(matches_every_way(Graph({a, k}, outputs), {.bindings = 6}));
}

TEST(Bodies, OutputsThatAreInputsConstantsOrTheSameTwice) {
  const Value a = in("a", "f32[n, 3]");
  const Value b = in("b", "f32[n, 3]");
  const Value c = in("c", "f32[n, 3]");
  const Value k = in("k", "f32[trips]");
  const auto swapped = scan({a, b, c}, {k}, [&](const Value&, const Values& v, const Values& e) {
    const Value sum = v[0] + v[1] + e[0];
    return ScanStep{.carried = {v[1], sum, v[2]},  // one moves, one is new, one stays
                    .stacked = {sum, sum, v[0], transpose(v[0]), constant(Array::from<float>({2}, {1, 2})), e[0]}};
  });
  std::vector<Output> outputs;
  for (const Values& list : {swapped.carried, swapped.stacked}) {
    for (const Value& value : list) {
      outputs.push_back({.name = "o" + std::to_string(outputs.size()), .value = value});
    }
  }
  EXPECT_TRUE(matches_every_way(Graph({a, b, c, k}, outputs), {.bindings = 8}));
}

TEST(Bodies, TripsOfNoneAndOfOne) {
  for (const int64_t trips : {0, 1, 2, 3}) {
    const Value x = in("x", "f32[n]");
    const Graph graph({x}, {{"y", loop(trips, {x}, [](const Value& trip, const Values& v) {
                               return Values{v[0] * 2.0 + cast(trip, f32)};
                             })[0]}});
    EXPECT_TRUE(matches_every_way(graph)) << trips;
  }
}

TEST(Bodies, ConditionsEndLoops) {
  const Value x = in("x", "f32[n]");
  const Value limit = in("limit", "f32[]");
  const Value start = scalar(f32, 1);
  const auto grown = while_loop(100, {x, start}, [&](const Value&, const Values& v) {
    const Value next = v[1] * 2.0;
    return WhileStep{.go_on = lt(next, limit), .carried = {v[0] + next, next}};
  });
  const Graph graph({x, limit}, {{"sum", grown[0]}, {"last", grown[1]}});
  const Executable executable = compile(graph, {.disk_cache = false});
  for (const double stop : {0.0, 1.0, 5.0, 1000.0, 1e30, 1e38}) {
    const std::vector<Array> inputs = {Array::from<float>({2}, {1, 2}), Array::scalar(f32, stop)};
    const std::vector<Array> expected = interpret(graph, inputs);
    const std::vector<Array> actual = executable.run(inputs);
    EXPECT_TRUE(same(actual[0], expected[0]) && same(actual[1], expected[1])) << stop;
  }
}

TEST(Bodies, ConditionalsRunOneBranch) {
  const Value x = in("x", "f32[n, 4]");
  const Value condition = in("condition", "bool[]");
  const auto chosen = if_then_else(
      condition, [](const Values& v) { return Values{exp(v[0]), reduce_sum(v[0], {1})}; },
      [](const Values& v) { return Values{v[0], reduce_max(v[0], {1})}; }, {x});
  const Graph graph({x, condition}, {{"a", chosen[0]}, {"b", chosen[1]}});
  for (const bool which : {true, false}) {
    EXPECT_TRUE(matches_every_way(graph, {.inputs = [&](const Graph&, const Bindings& bindings) {
                                    std::mt19937_64 rng(3);
                                    return std::vector<Array>{random_array(f32, {bindings.at("n"), 4}, rng),
                                                              Array::from<bool>({}, {which})};
                                  }}));
  }
}

TEST(Bodies, InBodiesAndWithRoutines) {
  const Value x = in("x", "f32[seq, n]");
  const Value w = in("w", "f32[n]");
  const auto result = scan({w}, {x}, [&](const Value& trip, const Values& v, const Values& e) {
    const Value odd = eq(mod(trip, 2), 1);
    const Value either = if_then_else(
        odd, [](const Values& u) { return Values{sort(u[0] + u[1])}; },
        [](const Values& u) {
          return loop(3, {u[0]},
                      [&](const Value&, const Values& inner) { return Values{cumulative_sum(inner[0]) * 0.1 + u[1]}; });
        },
        {v[0], e[0]})[0];
    return ScanStep{.carried = {either}, .stacked = {reduce_sum(either)}};
  });
  const Graph graph({x, w}, {{"last", result.carried[0]}, {"sums", result.stacked[0]}});
  EXPECT_TRUE(matches_every_way(graph, {.bindings = 8}));
}

TEST(Bodies, PositionsOutOfRangeInABodyAreErrors) {
  const Value table = in("table", "f32[rows, 2]");
  const Value ids = in("ids", "i64[seq]");
  const auto result = scan({}, {ids}, [&](const Value&, const Values&, const Values& e) {
    return ScanStep{.carried = {}, .stacked = {take(table, e[0])}};
  });
  const Graph graph({table, ids}, {{"y", result.stacked[0]}});
  const Executable executable = compile(graph, {.disk_cache = false});
  const std::vector<Array> inputs = {Array(f32, {4, 2}), Array::from<int64_t>({3}, {0, 3, 4})};
  EXPECT_EQ(error_text([&] { executable.run(inputs); }), error_text([&] { interpret(graph, inputs); }));
  EXPECT_EQ(executable.run({Array(f32, {5, 2}), inputs[1]})[0].dims(), (std::vector<int64_t>{3, 2}));
}

TEST(Bodies, GradientsOfLoops) {
  const Value x = in("x", "f32[seq, 4]");
  const Value w = in("w", "f32[4]");
  const auto result = scan({w}, {x}, [](const Value&, const Values& v, const Values& e) {
    return ScanStep{.carried = {sigmoid(v[0] * e[0])}, .stacked = {}};
  });
  const Value loss = reduce_sum(result.carried[0]);
  const auto found = gradients(loss, {x, w});
  EXPECT_TRUE(matches_every_way(Graph({x, w}, {{"loss", loss}, {"dx", found[0]}, {"dw", found[1]}})));
}

TEST(Bodies, BarriersAreCopies) {
  const Value x = in("x", "f32[n]");
  const auto kept = barrier({x * 2.0, x + 1.0});
  EXPECT_TRUE(matches_every_way(Graph({x}, {{"y", kept[0] + kept[1]}})));
}

TEST(Bodies, CompositesThatAreNotInlined) {
  const Value x = in("x", "f32[n, 5]");
  const Graph graph({x}, {{"y", softmax(x)}});
  EXPECT_TRUE(compiled_matches(graph, {.compile = {.disk_cache = false, .skip = {"inline_calls"}}}));
}

TEST(Bodies, ExplainNamesThem) {
  const Executable executable = compile(mixing_loop(), {.native = false});
  const std::string text = executable.explain();
  EXPECT_NE(text.find("loop of seq trips: 1 kernel"), std::string::npos) << text;
  const auto& steps = executable.steps();
  const auto found = std::ranges::find(steps, StepKind::control, &StepReport::kind);
  ASSERT_NE(found, steps.end());
  ASSERT_EQ(found->bodies.size(), 1u);
  EXPECT_EQ(found->bodies[0].steps.size(), 1u);
  EXPECT_GE(executable.kernel_count(), 1) << "those of bodies count";
}

TEST(Bodies, TracesShowWhatHappensInside) {
  const Executable executable = compile(mixing_loop(), {.native = false});
  std::mt19937_64 rng(1);
  Trace trace;
  executable.run({random_array(f32, {5, 2, 8}, rng), random_array(f32, {2, 8}, rng), random_array(f32, {8, 8}, rng)},
                 {.trace = &trace});
  int inside = 0;
  int whole = 0;
  for (const TraceEvent& event : trace.events()) {
    inside += event.label.find(" / ") != std::string::npos ? 1 : 0;
    whole += event.label == "loop of seq trips: 1 kernel" ? 1 : 0;
    EXPECT_GT(event.bytes, 0) << event.label;
  }
  EXPECT_EQ(inside, 5) << "one for each trip";
  EXPECT_EQ(whole, 1);
}

TEST(Bodies, SizesBeyondMemoryAreRefusedBeforeTheFirstTrip) {
  const Value x = in("x", "f32[1000]");
  const auto result = scan(Extent::name("trips"), {x}, {}, [](const Value&, const Values& v, const Values&) {
    return ScanStep{.carried = {v[0] + 1.0}, .stacked = {v[0]}};
  });
  const Executable executable = compile(Graph({x}, {{"all", result.stacked[0]}}), {.native = false});
  const std::string said =
      error_text([&] { executable.run({Array(f32, {1000})}, {.bindings = {{"trips", int64_t{1} << 40}}}); });
  EXPECT_NE(said.find("memory"), std::string::npos) << said;
}

}  // namespace
}  // namespace tenon::bodies_test
