// Everything runs on a device whose memory is not the host's, to the same bits, and touches that memory through the
// device alone.

#include "support/apart_device.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/lowered.h"
#include "support/error_text.h"
#include "support/model_cases.h"
#include "support/random_graph.h"
#include "tenon/tenon.h"

namespace tenon::apart_device_test {
namespace {

using Several = std::vector<Value>;

std::shared_ptr<ApartDevice> apart_device(const CompileOptions& options) {
  return std::make_shared<ApartDevice>(
      backend::backend_for(options.machine, options.native).device(Pool::shared(), false));
}

Executable on(const std::shared_ptr<ApartDevice>& device, const Graph& graph, const CompileOptions& options) {
  CompileReport report;
  return compiler::compile(compiler::lower(graph, options, report), compiler::code_choice(options), report,
                           {.device = device});
}

int64_t bytes_of(const std::vector<Array>& arrays) {
  int64_t bytes = 0;
  for (const Array& array : arrays) {
    bytes += static_cast<int64_t>(array.byte_count());
  }
  return bytes;
}

TEST(ApartDevice, RunsTheModels) {
  for (const ModelCase& each : model_cases()) {
    const Model model = each.build();
    const CompileOptions options;
    const Executable expected = compile(model.graph, options);
    const auto device = apart_device(options);
    {
      const Executable executable = on(device, model.graph, options);
      for (const Bindings& bindings : each.bindings) {
        const std::vector<Array> inputs = inputs_of(model, bindings, each.tokens);
        const int64_t in = device->counters().bytes_in;
        const int64_t out = device->counters().bytes_out;
        const std::vector<Array> results = executable.run(inputs, {.bindings = bindings});
        EXPECT_TRUE(std::ranges::equal(results, expected.run(inputs, {.bindings = bindings}), same_bits))
            << each.name << " at " << bindings.to_string();
        const bool has_loops = std::ranges::count(executable.steps(), StepKind::control, &StepReport::kind) > 0;
        if (has_loops) {  // the number of each trip goes in, too
          EXPECT_GE(device->counters().bytes_in - in, bytes_of(inputs)) << each.name;
        } else {
          EXPECT_EQ(device->counters().bytes_in - in, bytes_of(inputs)) << each.name << ": inputs go in once";
        }
        EXPECT_GE(device->counters().bytes_out - out, bytes_of(results)) << each.name;
      }
      EXPECT_GT(device->counters().launches, 0) << each.name;
    }
    EXPECT_EQ(device->counters().in_use, 0) << each.name << ": all memory is given back";
  }
}

/// All kinds of nodes, loops and conditionals, sizes that data decide.
TEST(ApartDevice, RunsRandomGraphs) {
  for (const bool native : {false, true}) {
    const CompileOptions options{.native = native};
    const auto device = apart_device(options);
    for (uint64_t seed = 7000; seed < (native ? 7040u : 7120u); ++seed) {
      const RandomGraph random = random_graph(seed);
      const Executable expected = compile(random.graph, options);
      const Executable executable = on(device, random.graph, options);
      for (const Bindings& bindings : random_bindings(random.graph, seed, 2)) {
        const std::vector<Array> inputs = random_graph_inputs(random, bindings, seed);
        const std::string wrong = error_text([&] { (void)expected.run(inputs, {.bindings = bindings}); });
        if (wrong != "no error") {
          EXPECT_EQ(error_text([&] { (void)executable.run(inputs, {.bindings = bindings}); }), wrong) << seed;
          continue;
        }
        EXPECT_TRUE(std::ranges::equal(executable.run(inputs, {.bindings = bindings}),
                                       expected.run(inputs, {.bindings = bindings}), same_bits))
            << "seed " << seed << " at " << bindings.to_string();
      }
    }
    EXPECT_EQ(device->counters().in_use, 0);
  }
}

TEST(ApartDevice, UploadsConstantsOnce) {
  const Value x = input("x", shape(f32, "n", 3));
  const Array weights = Array::full(f32, {3, 5}, 0.5);
  const Graph graph({x}, {{"y", exp(matmul(x, constant(weights)))}});
  const CompileOptions options{.native = false};
  const auto device = apart_device(options);
  const Executable executable = on(device, graph, options);
  EXPECT_EQ(device->counters().bytes_in, static_cast<int64_t>(weights.byte_count()));
  const Array data = Array::full(f32, {4, 3}, 1);
  for (int run = 1; run <= 3; ++run) {
    (void)executable.run({data});
    EXPECT_EQ(device->counters().bytes_in,
              static_cast<int64_t>(weights.byte_count()) + run * static_cast<int64_t>(data.byte_count()));
    EXPECT_EQ(device->counters().bytes_out, run * int64_t{4 * 5 * 4});
  }
}

TEST(ApartDevice, LoopsAndConditionsReadTheirScalarsBack) {
  const Value x = input("x", shape(f32, "n"));
  const Value limit = input("limit", shape(f32));
  const auto searched = while_loop(
      10, {x}, [&](const Value&, const Several& v) { return WhileStep{lt(reduce_sum(v[0]), limit), {v[0] * 2.0}}; });
  const auto chosen = if_then_else(
      lt(reduce_sum(x), limit), [](const Several& v) { return Several{v[0] + 1.0}; },
      [](const Several& v) { return Several{v[0] - 1.0}; }, {x});
  const Graph graph({x, limit}, {{"searched", searched[0]}, {"chosen", chosen[0]}});
  const CompileOptions options{.native = false};
  const auto device = apart_device(options);
  for (const double bound : {1.0, 40.0}) {
    const std::vector<Array> inputs{Array::full(f32, {3}, 1), Array::scalar(f32, bound)};
    EXPECT_TRUE(
        std::ranges::equal(on(device, graph, options).run(inputs), compile(graph, options).run(inputs), same_bits));
  }
}

TEST(ApartDevice, TellsOfPositionsOutOfRange) {
  const Value x = input("x", shape(f32, 4));
  const Value at = input("at", shape(i64, "n"));
  const Graph graph({x, at}, {{"y", take(x, at)}});
  const CompileOptions options{.native = false};
  const auto device = apart_device(options);
  const Executable executable = on(device, graph, options);
  const std::vector<Array> wrong{Array::full(f32, {4}, 1), Array::from<int64_t>({3}, {0, 9, 1})};
  const std::string expected = error_text([&] { (void)compile(graph, options).run(wrong); });
  EXPECT_NE(expected, "no error");
  EXPECT_EQ(error_text([&] { (void)executable.run(wrong); }), expected);
  const std::vector<Array> right{Array::full(f32, {4}, 1), Array::from<int64_t>({3}, {0, 3, 1})};
  EXPECT_EQ(executable.run(right)[0].values<float>()[1], 1) << "a failure is told once";
}

/// Memory of the caller's stays the host's: views with strides, results that are to lie where an input lies.
TEST(ApartDevice, WritesTheMemoryOfTheCaller) {
  const Value x = input("x", shape(f32, "rows", "columns"));
  const Graph graph({x}, {{"y", transpose(x, {1, 0}) * 2.0}, {"same", x}});
  const CompileOptions options{.native = false};
  const Executable executable = on(apart_device(options), graph, options);
  std::vector<float> data{1, -1, 2, -1, 3, -1, 4, -1};  // every second one
  std::vector<float> doubled(12, 7);
  std::vector<float> copied(4);
  const std::vector<int64_t> dims{2, 2};
  const std::vector<int64_t> wide{4, 2};
  const std::vector<int64_t> gaps{6, 3};
  const TensorView in{.data = data.data(), .dtype = f32, .dims = dims, .strides = wide};
  const TensorView out{.data = doubled.data(), .dtype = f32, .dims = dims, .strides = gaps};
  const TensorView same{.data = copied.data(), .dtype = f32, .dims = dims};
  executable.run_into(std::vector{in}, std::vector{out, same});
  EXPECT_EQ(doubled, (std::vector<float>{2, 7, 7, 6, 7, 7, 4, 7, 7, 8, 7, 7}));
  EXPECT_EQ(copied, (std::vector<float>{1, 2, 3, 4}));
}

/// Results that stay on the device go into the next run as they are.
TEST(ApartDevice, KeepsResultsWhereTheyAre) {
  const Value x = input("x", shape(f32, "rows", "columns"));
  const Graph graph({x}, {{"doubled", x * 2.0},
                          {"turned", transpose(x, {1, 0})},
                          {"same", x},
                          {"fixed", constant(Array::full(f32, {3}, 5))}});
  const CompileOptions options{.native = false};
  const auto device = apart_device(options);
  {
    const Executable executable = on(device, graph, options);
    const Executable plain = compile(graph, options);
    const Array data = Array::from<float>({2, 3}, {1, 2, 3, 4, 5, 6});
    const int64_t in = device->counters().bytes_in;
    const std::vector<Array> first = executable.run({data}, {.results_on_device = true});
    for (const Array& each : first) {
      EXPECT_EQ(each.place(), device->place());
    }
    const std::vector<Array> second = executable.run({first[1]}, {.results_on_device = true});
    EXPECT_EQ(device->counters().bytes_in - in, static_cast<int64_t>(data.byte_count())) << "once, at the first run";
    EXPECT_EQ(device->counters().bytes_out, 0);
    EXPECT_EQ(second[2].storage().address, first[1].storage().address) << "an output that is the input is its memory";
    const std::vector<Array> expected = plain.run({plain.run({data})[1]});
    for (size_t i = 0; i < second.size(); ++i) {
      EXPECT_TRUE(same_bits(executable.to_cpu(second[i]), expected[i])) << i;
    }
    EXPECT_TRUE(std::ranges::equal(executable.run({first[1]}), expected, same_bits)) << "and out by itself";
    EXPECT_EQ(error_text([&] { (void)plain.run({first[0]}); }),
              "input `x` is in the memory of gpu:7; this program runs on the CPU and takes inputs from its memory");
    EXPECT_EQ(error_text([&] { (void)plain.to_cpu(first[0]); }),
              "this array is in the memory of gpu:7, which does not run the program");
  }
  EXPECT_EQ(device->counters().in_use, 0);
}

/// What is put there once is not copied by the runs that read it.
TEST(ApartDevice, InputsArePutThereOnce) {
  const Value x = input("x", shape(f32, "n"));
  const Graph graph({x}, {{"y", exp(x)}});
  const CompileOptions options{.native = false};
  const auto device = apart_device(options);
  {
    const Executable executable = on(device, graph, options);
    const Array data = Array::from<float>({3}, {1, -2, 3});
    const Array there = executable.to_device(data);
    EXPECT_EQ(there.place(), device->place());
    EXPECT_EQ(executable.to_device(there).storage().address, there.storage().address);
    EXPECT_TRUE(same_bits(executable.to_cpu(there), data));
    const int64_t in = device->counters().bytes_in;
    EXPECT_TRUE(same_bits(executable.run({there})[0], compile(graph, options).run({data})[0]));
    EXPECT_EQ(device->counters().bytes_in, in);
    const Executable plain = compile(graph, options);
    EXPECT_EQ(plain.to_device(data).storage().address, data.storage().address);
    EXPECT_EQ(error_text([&] { (void)plain.to_device(there); }),
              "this array is in the memory of gpu:7, which does not run the program");
    const Array empty = executable.to_device(Array::uninitialized(f32, {0}));
    EXPECT_EQ(executable.run({empty})[0].size(), 0);
  }
  EXPECT_EQ(device->counters().in_use, 0);
}

/// An input that is handed over is updated where it is, one that is not in a copy on the device.
TEST(ApartDevice, UpdatesStateWhereItIs) {
  const Value state = input("state", shape(f32, "n"));
  const Value step = input("step", shape(f32, "n"));
  const Graph graph({state, step}, {{.name = "next", .value = state + step, .aliases = 0}});
  const CompileOptions options{.native = false};
  const auto device = apart_device(options);
  {
    const Executable executable = on(device, graph, options);
    const Array ones = Array::full(f32, {5}, 1);
    std::vector<Array> values = executable.run({ones, ones}, {.results_on_device = true});
    for (int i = 0; i < 3; ++i) {
      values = executable.run(std::vector<Array>{values[0], ones}, {.results_on_device = true});
    }
    EXPECT_EQ(device->counters().bytes_out, 0);
    EXPECT_EQ(executable.to_cpu(values[0]).at(4), 5);
  }
  EXPECT_EQ(device->counters().in_use, 0);
}

/// Between segments a count alone is read back.
TEST(ApartDevice, ValuesBetweenSegmentsStay) {
  const Value x = input("x", shape(f32, "n"));
  const Value chosen = take(x, reshape(nonzero(gt(x, 0.0)), {-1}));
  const Graph graph({x}, {{"y", exp(chosen)}});
  const CompileOptions options{.native = false};
  const auto device = apart_device(options);
  {
    const Executable executable = on(device, graph, options);
    ASSERT_GT(executable.segments().size(), 1u);
    const Array data = Array::from<float>({6}, {1, -2, 3, -4, 5, -6});
    const int64_t in = device->counters().bytes_in;
    const std::vector<Array> results = executable.run({data});
    EXPECT_TRUE(std::ranges::equal(results, compile(graph, options).run({data}), same_bits));
    EXPECT_EQ(results[0].size(), 3);
    const int64_t routine = 6 * 8 + 8;  // on the host: at most as many positions, and how many there are
    EXPECT_EQ(device->counters().bytes_in - in, 2 * static_cast<int64_t>(data.byte_count()) + routine)
        << "the input goes into both segments; the positions that the first one made stay";
  }
  EXPECT_EQ(device->counters().in_use, 0);
}

TEST(ApartDevice, ARunThatIsCancelledLeavesNothing) {
  const Value x = input("x", shape(f32, "n"));
  Value y = x;
  for (int i = 0; i < 4; ++i) {
    y = cumulative_sum(sin(y), 0);
  }
  const Graph graph({x}, {{"y", y}});
  const CompileOptions options{.native = false};
  const auto device = apart_device(options);
  const Array data = Array::full(f32, {100}, 1);
  {
    CompileReport report;
    int steps = 0;
    const Executable executable =
        compiler::compile(compiler::lower(graph, options, report), compiler::code_choice(options), report,
                          {.device = device, .before_step = [&](size_t) {
                             if (++steps == 3) {
                               throw Cancelled();
                             }
                           }});
    EXPECT_THROW((void)executable.run({data}), Cancelled);
    EXPECT_TRUE(same_bits(executable.run({data})[0], compile(graph, options).run({data})[0]));
  }
  EXPECT_EQ(device->counters().in_use, 0);
}

}  // namespace
}  // namespace tenon::apart_device_test
