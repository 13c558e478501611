// Graphs whose sizes only data decide, compiled: against the interpreter, and what the runtime makes of segments.
#include "compiler/segments.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "compiler/lowered.h"
#include "ir/data_axes.h"
#include "ir/unify_names.h"
#include "support/arrays.h"
#include "support/error_text.h"
#include "tenon/compile.h"
#include "tenon/indexing.h"
#include "tenon/interpreter.h"
#include "tenon/nn.h"
#include "tenon/selection.h"

namespace tenon::segments_test {
namespace {

Value in(const char* name, const char* text) { return input(name, Shape::parse(text)); }

/// Elements of which about `share` are above 0.
Array sample(std::vector<int64_t> dims, double share, uint64_t seed) {
  std::mt19937_64 rng(seed);
  return random_array(f32, std::move(dims), rng, share - 1, share);
}

/// Everything that a size that data decide can get into.
Graph rich() {
  const Value x = in("x", "f32[row, col]");
  const Value w = in("w", "f32[col, unit]");
  const Value first = squeeze(slice_axis(x, 1, 0, Extent(1)), {1});
  const Value kept = compress(exp(x), gt(first, 0), 0, "kept");
  const Value product = matmul(kept, w);
  const Value where = nonzero(gt(x, Operand(0.5)), "found");
  const Value pairs = concat({cast(where, f32), full(shape(f32, 2, Extent::name("kept")), 7)}, 1);
  const UniqueElements levels = unique(round(x), {.name = "level"});
  const UniqueElements rows = unique(gt(x, 0), {.axis = 0, .name = "kind"});
  return {{x, w},
          {{"soft", softmax(product, -1)},
           {"sum", reduce_sum(kept, {0})},
           {"pairs", pairs},
           {"count", extent_value(Extent::name("kept") * 2 + Extent::name("found"))},
           {"level", levels.values},
           {"inverse", levels.inverse},
           {"counts", levels.counts},
           {"kinds", rows.values},
           {"kind", rows.inverse},
           {"plain", relu(x)}}};
}

void expect_like_interpreter(const Graph& graph, const Executable& executable, const std::vector<Array>& inputs) {
  const std::vector<Array> wanted = interpret(graph, inputs);
  std::vector<Array> one;
  for (const int threads : {1, 2, 7}) {
    const std::vector<Array> got = executable.run(inputs, {.threads = threads});
    ASSERT_EQ(got.size(), wanted.size());
    for (size_t i = 0; i < got.size(); ++i) {
      EXPECT_TRUE(close(got[i], wanted[i], 2e-5, 1e-5)) << graph.outputs()[i].name;
      if (!one.empty()) {
        EXPECT_TRUE(same(got[i], one[i])) << graph.outputs()[i].name << " with " << threads << " threads";
      }
    }
    one = one.empty() ? got : one;
  }
}

TEST(Segments, CompiledIsWhatIsInterpreted) {
  const Graph graph = rich();
  for (const bool native : {true, false}) {
    const Executable executable = compile(graph, {.native = native, .least_shared_work = 0});
    uint64_t seed = 1;
    for (const auto& [row, col] : std::vector<std::pair<int64_t, int64_t>>{{0, 3}, {1, 1}, {5, 3}, {40, 17}, {3, 1}}) {
      for (const double share : {0.0, 0.3, 1.0}) {
        expect_like_interpreter(graph, executable, {sample({row, col}, share, ++seed), sample({col, 5}, 0.5, ++seed)});
      }
    }
    EXPECT_EQ(executable.counters().compiles, 1);
  }
}

TEST(Segments, AreCutBehindWhatBindsNames) {
  const Value x = in("x", "f32[n]");
  const Value y = exp(x);
  const Value kept = compress(y, gt(x, 0), 0, "a");
  const Value again = compress(kept, gt(kept, 2), 0, "b");
  const compiler::SegmentedGraph parts =
      compiler::cut(Graph({x}, {{"again", again}, {"other", positions(lt(x, 0), "c").count}}));
  ASSERT_EQ(parts.segments.size(), 3U);
  const auto bound = [&](size_t i) {
    AxisNames names;
    for (const runtime::BoundAxis& axis : parts.segments[i].binds) {
      names.insert(axis.name);
    }
    return names;
  };
  EXPECT_EQ(bound(0), (AxisNames{"a", "c"})) << "what does not depend on each other is found together";
  EXPECT_EQ(bound(1), (AxisNames{"b"}));
  EXPECT_EQ(bound(2), AxisNames{});
  EXPECT_EQ(parts.segments[1].inputs[0], (runtime::SegmentSource{.segment = -1, .index = 0}))
      << "exp is computed where it is read, of the elements that are kept";
  for (const compiler::GraphSegment& segment : parts.segments) {
    EXPECT_TRUE(data_axes(segment.graph).empty());
  }
}

TEST(Segments, AGraphThatBindsNothingIsOne) {
  const Value x = in("x", "f32[n]");
  const Graph graph({x}, {{"y", exp(x)}});
  const compiler::SegmentedGraph parts = compiler::cut(graph);
  ASSERT_EQ(parts.segments.size(), 1U);
  EXPECT_EQ(parts.segments[0].graph, graph);
  EXPECT_EQ(compile(graph).segments().size(), 1U);
}

TEST(Segments, OtherCountsAtTheSameSizesAreFoundAgain) {
  const Value x = in("x", "f32[n]");
  const Executable executable = compile(Graph({x}, {{"y", exp(compress(x, gt(x, 0), 0, "k"))}}));
  const auto run = [&](int64_t above) {
    Array data = Array::full(f32, {8}, -1);
    std::ranges::fill_n(data.mutable_values<float>().begin(), above, 1.0F);
    EXPECT_EQ(executable.run({data})[0].dims(), (std::vector<int64_t>{above}));
    return executable.counters();
  };
  EXPECT_EQ(run(3).specializations, 2);
  EXPECT_EQ(run(5).specializations, 3) << "the first segment is at the same sizes";
  const RunCounters third = run(3);
  EXPECT_EQ(third.specializations, 3);
  EXPECT_EQ(third.compiles, 1);
  EXPECT_EQ(third.runs, 3);
  EXPECT_EQ(third.hits, 3);
}

TEST(Segments, ASizeWhoseValueIsNotNeededIsStillDecided) {
  const Value x = in("x", "f32[n]");
  const Found found = positions(gt(x, 0), "k");
  const Graph graph({x}, {{"zeros", mul(found.positions, 0)}, {"count", found.count}});
  const Array data = Array::from<float>({3}, {1, -1, 1});
  const std::vector<Array> out = compile(graph).run({data});
  EXPECT_TRUE(same(out[0], Array::from<int64_t>({2}, {0, 0})));
  EXPECT_TRUE(same(out[1], Array::from<int64_t>({}, {2})));
  const Graph alone({x}, {{"zeros", mul(found.positions, 0)}});
  EXPECT_TRUE(same(compile(alone).run({data})[0], out[0]));
}

TEST(Segments, ConstraintsAndNamesAreCheckedAsInterpreted) {
  const Value x = in("x", "f32[n]");
  const Value bias = in("bias", "f32[m]");
  const UnifyNames unify;
  const Graph graph("main", {x, bias}, {{"y", compress(x, gt(x, 0), 0, "k") + bias}}, {parse_constraint("k <= 2")});
  const Executable executable = compile(graph);
  const auto floats = [](const std::vector<float>& values) {
    return Array::from({static_cast<int64_t>(values.size())}, values);
  };
  for (const auto& [a, b] : std::vector<std::pair<Array, Array>>{{floats({1, 1, 1}), floats({1, 2, 3})},
                                                                 {floats({1, -1, 1}), floats({1, 2, 3})}}) {
    const std::string text = error_text([&, x = a, y = b] { executable.run({x, y}); });
    EXPECT_FALSE(text.empty());
    EXPECT_EQ(text, error_text([&, x = a, y = b] { interpret(graph, {x, y}); }));
  }
  EXPECT_TRUE(same(executable.run({floats({1, -1, 2}), floats({10, 20})})[0], floats({11, 22})));
  EXPECT_EQ(error_text([&] { executable.run({floats({1}), floats({1})}, {.bindings = {{"k", 1}}}); }),
            "axis `k` cannot be given a size: data decide it");
}

TEST(Segments, MemoryOfTheCallersAndQuestionsAhead) {
  const Value x = in("x", "f32[n]");
  const Value kept = compress(x, gt(x, 0), 0, "k");
  const Executable executable = compile(Graph({x}, {{"y", kept}, {"sum", reduce_sum(exp(kept))}}));
  Array data = Array::from<float>({4}, {1, -1, 2, 3});
  const std::vector<TensorView> views = {view_of(data)};
  const std::vector<Array> out = executable.run_borrowed(views);
  EXPECT_TRUE(same(out[0], Array::from<float>({3}, {1, 2, 3})));
  EXPECT_TRUE(same(executable.run_views({data})[0].contiguous(), out[0]));
  Array y(f32, {3});
  Array sum(f32, {});
  const std::vector<TensorView> into = {writable_view_of(y), writable_view_of(sum)};
  EXPECT_EQ(error_text([&] { executable.run_into(views, into); }),
            "output `y` is f32[k], and data decide the size of axis `k`: no memory can be given for it");
  const Executable only_sum = compile(Graph({x}, {{"sum", reduce_sum(exp(kept))}}));
  only_sum.run_into(views, std::vector<TensorView>{writable_view_of(sum)});
  EXPECT_TRUE(same(sum, out[1]));

  EXPECT_EQ(error_text([&] { executable.output_shapes({{"n", 4}}); }),
            "output `y` is f32[k], and data decide the size of axis `k`: give it one to ask what the shape is then");
  EXPECT_EQ(executable.output_shapes({{"n", 4}, {"k", 2}})[0].to_string(), "f32[k=2]");
  EXPECT_EQ(error_text([&] { executable.output_shapes({{"n", 4}, {"k", 5}}); }),
            "axis `k` cannot be 5: it is at most n, 4 here");
  EXPECT_GE(executable.memory({{"n", 4}, {"k", 2}}).output_bytes, 2 * 4 + 4);
  const Executable fresh = compile(Graph({x}, {{"y", exp(kept)}}));
  fresh.specialize({{"n", 4}});
  EXPECT_EQ(fresh.counters().specializations, 1);
  fresh.pre_specialize(std::vector<Bindings>{{{"n", 4}, {"k", 3}}, {{"n", 4}, {"k", 1}}});
  EXPECT_EQ(fresh.counters().specializations, 3);
  fresh.run({data});
  EXPECT_EQ(fresh.counters().specializations, 3);
  EXPECT_EQ(fresh.counters().hits, 2);
}

TEST(Segments, ExplainTracesAndCancel) {
  const Value x = in("x", "f32[row, col]");
  const Executable executable =
      compile(Graph({x}, {{"y", exp(take(reshape(x, {Axis::anonymous()}), positions(gt(x, 0), "k").positions))}}));
  EXPECT_NE(executable.explain().find("binds `k` <= "), std::string::npos) << executable.explain();
  ASSERT_EQ(executable.segments().size(), 2U);
  EXPECT_EQ(executable.segments()[0].steps + executable.segments()[1].steps,
            static_cast<int>(executable.steps().size()));
  Trace trace;
  const Array data = sample({30, 30}, 0.5, 1);
  executable.run({data}, {.trace = &trace});
  std::set<int> steps;
  for (const TraceEvent& event : trace.events()) {
    steps.insert(event.step);
  }
  EXPECT_EQ(steps.size(), executable.steps().size());
  EXPECT_EQ(*steps.rbegin(), static_cast<int>(executable.steps().size()));
  CancelToken token;
  token.cancel();
  EXPECT_THROW(executable.run({data}, {.cancel = &token}), Cancelled);
  EXPECT_EQ(executable.run({data}).size(), 1U);
  executable.run({data}, {.reuse_results = true});
  const std::vector<Array> again = executable.run({data}, {.reuse_results = true});
  EXPECT_TRUE(same(again[0], executable.run({data})[0]));
  EXPECT_EQ(executable.counters().reused_results, 2) << "of both segments";
}

TEST(Segments, StateIsHandedToTheLastThatReadsIt) {
  const Value state = in("state", "f32[n]");
  const Value x = in("x", "f32[m]");
  const Value kept = compress(x, gt(x, reduce_max(state)), 0, "k");
  const Value next = update_slice(state, reshape(reduce_sum(kept), {1}), {0});
  const Executable executable = compile(Graph({state, x}, {{"next", next, 0}}));
  const auto floats = [](const std::vector<float>& values) {
    return Array::from({static_cast<int64_t>(values.size())}, values);
  };
  const Array data = floats({1, -1, 2});
  EXPECT_TRUE(same(executable.run({data, floats({3, 1, 4})})[0], floats({7, -1, 2})));
  EXPECT_TRUE(same(data, floats({1, -1, 2}))) << "what is shared stays";
  std::vector<Array> given = {floats({1, -1, 2}), floats({3, 1, 4})};
  EXPECT_TRUE(same(executable.run(std::move(given))[0], floats({7, -1, 2})));
}

TEST(Segments, AnErrorInAnyStepOfAnySegmentHarmsNothing) {
  const Value x = in("x", "f32[row, col]");
  const Value w = in("w", "f32[col, unit]");
  const Value kept = compress(x, gt(reduce_sum(x, {1}), 0), 0, "kept");
  const Value again = compress(matmul(kept, w), gt(reduce_sum(kept, {1}), 1), 0, "again");
  const Graph graph({x, w}, {{"y", exp(again)}, {"at", nonzero(x, "found")}});
  std::atomic<int> failing = -1;
  CompileReport report;
  const Executable executable = compiler::compile(compiler::lower(graph, {.native = false}, report), {.native = false},
                                                  report, {.before_step = [&](size_t step) {
                                                    if (static_cast<int>(step) == failing) {
                                                      throw Error("injected");
                                                    }
                                                  }});
  ASSERT_EQ(executable.segments().size(), 3U);
  const std::vector<Array> inputs = {sample({30, 5}, 0.6, 1), sample({5, 4}, 0.5, 2)};
  const std::vector<Array> wanted = executable.run(inputs);
  for (int step = 0; step < static_cast<int>(executable.steps().size()); ++step) {
    for (const int threads : {1, 2}) {
      failing = step;
      EXPECT_EQ(error_text([&] { executable.run(inputs, {.threads = threads}); }), "injected") << step;
      failing = -1;
      const std::vector<Array> after = executable.run(inputs, {.threads = threads});
      EXPECT_TRUE(same(after[0], wanted[0]) && same(after[1], wanted[1])) << step;
    }
  }
}

TEST(Segments, ManyThreadsRunOneExecutable) {
  const Graph graph = rich();
  const Executable executable = compile(graph);
  std::vector<std::vector<Array>> inputs;
  std::vector<std::vector<Array>> wanted;
  for (uint64_t i = 0; i < 4; ++i) {
    inputs.push_back({sample({20, 6}, 0.2 * static_cast<double>(i), i), sample({6, 3}, 0.5, i)});
    wanted.push_back(executable.run(inputs.back()));
  }
  std::atomic<int> wrong = 0;
  std::vector<std::jthread> threads;
  for (size_t t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (size_t i = 0; i < 40; ++i) {
        const size_t at = (i + t) % inputs.size();
        const std::vector<Array> got = executable.run(inputs[at]);
        for (size_t k = 0; k < got.size(); ++k) {
          wrong += same_bits(got[k], wanted[at][k]) ? 0 : 1;
        }
      }
    });
  }
  threads.clear();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace tenon::segments_test
