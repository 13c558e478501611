#include <memory>
// What a run complains about, against the words of the interpreter.
#include "devices/cpu/cpu_device.h"
#include "shape/constraint_set.h"
#include "support/arrays.h"
#include "support/loop_builder.h"
#include "support/programs.h"
#include "tenon/interpreter.h"
#include "tenon/text.h"

namespace tenon::errors_test {
namespace {

const Extent kN = Extent::name("n");

TEST(RunErrors, BindingErrorsAreTheInterpreters) {
  const Graph graph = parse_graph(R"(
    graph pair(a: f32[batch, 2*k], b: f32[batch, out]) {
      where batch multiple of 2
      where out = k + 1
      return a, b
    })");
  ProgramBuilder program("pair");
  const int a = program.input("a", Shape::parse("f32[batch, 2*k]"));
  const int b = program.input("b", Shape::parse("f32[batch, out]"));
  program.view("a", Shape::parse("f32[batch, 2*k]"), a, 0, {2 * Extent::name("k"), 1});
  program.view("b", Shape::parse("f32[batch, out]"), b, 0, {Extent::name("out"), 1});
  const Executable executable = program.executable(graph.constraints());

  struct Call {
    std::vector<Array> inputs;
    Bindings known;
  };
  const Array good_a(f32, {4, 6});
  const Array good_b(f32, {4, 4});
  const std::vector<Call> calls = {
      {{good_a}, {}},                                  // number
      {{good_a, Array(f64, {4, 4})}, {}},              // dtype
      {{good_a, Array(f32, {4, 4, 1})}, {}},           // rank
      {{good_a, Array(f32, {2, 4})}, {}},              // two sizes of batch
      {{Array(f32, {4, 5}), good_b}, {}},              // odd
      {{Array(f32, {3, 6}), Array(f32, {3, 4})}, {}},  // batch is no multiple
      {{good_a, Array(f32, {4, 5})}, {}},              // out
      {{good_a, good_b}, {{"batch", 5}}},              // known otherwise
      {{good_a, good_b}, {{"k", 7}}},                  // known otherwise, of an expression
  };
  for (const Call& call : calls) {
    const std::string expected =
        error_text([&] { interpret(graph, call.inputs, {.bindings = call.known, .reference = false}); });
    EXPECT_NE(expected, "no error");
    EXPECT_EQ(error_text([&] { executable.run(call.inputs, {.threads = 0, .bindings = call.known}); }), expected);
  }
  EXPECT_EQ(executable.run({good_a, good_b}, {.threads = 0, .bindings = {{"batch", 4}, {"k", 3}}}).size(), 2u);
}

TEST(RunErrors, UnboundName) {
  ProgramBuilder program("free");
  const int x = program.input("x", shape(f32, 1));
  program.view("y", shape(f32, "n"), x, 0, {0});
  const Executable executable = program.executable();
  EXPECT_EQ(error_text([&] { executable.run({Array(f32, {1})}); }), "axis `n` is not bound (nothing is)");
  EXPECT_EQ(executable.run({Array(f32, {1})}, {.threads = 0, .bindings = {{"n", 3}}})[0].size(), 3);
  EXPECT_EQ(executable.run({Array(f32, {1})}, {.threads = 0, .bindings = {{"n", 5}}})[0].size(), 5);
}

TEST(RunErrors, NegativeSizes) {
  ProgramBuilder program("shrink");
  const int x = program.input("x", shape(f32, "n"));
  program.view("y", shape(f32, kN - 3), x, 0, {1});
  const Executable executable = program.executable();
  EXPECT_EQ(error_text([&] { executable.run({Array(f32, {2})}); }),
            "axis `n-3` is -1, cannot be negative (n=2)\n  in axis 0 of f32[n-3]");
  EXPECT_EQ(executable.run({Array(f32, {5})})[0].size(), 2);
}

TEST(RunErrors, SizesBeyondTheMachine) {
  const auto with_intermediate = [](const Extent& elements) {
    ProgramBuilder program("large");
    const int x = program.input("x", shape(f32, "n"));
    const int large = program.intermediate(f32, elements);
    const int y = program.output("y", shape(f32, "n"));
    program.step(scale_kernel(kN, 1, 0), {x, large});
    program.step(scale_kernel(kN, 1, 0), {large, y});
    return program.executable();
  };
  const Array x(f32, {1 << 16});
  EXPECT_NE(error_text([&] {
              with_intermediate(kN * kN * kN).run({x});
            }).find("an array of f32[281474976710656] is larger than this machine's memory"),
            std::string::npos);
  EXPECT_NE(error_text([&] { with_intermediate(kN * kN * kN * kN).run({x}); }).find("64 bits"), std::string::npos);
  EXPECT_EQ(with_intermediate(kN * kN * kN * kN).run({Array(f32, {3})})[0].size(), 3);
}

TEST(RunErrors, IntermediatesThatFitAloneButNotTogether) {
  ProgramBuilder program("together");
  const int x = program.input("x", shape(f32, "n"));
  LaunchPart wide = program.part(scale_kernel(kN, 1, 0), {x, -1});
  std::vector<LaunchPart> parts;
  for (int i = 0; i < 4000; ++i) {
    wide.buffers[1] = program.intermediate(f32, kN * kN);  // 1 GiB each
    parts.push_back(wide);
  }
  program.step("all at once", parts);
  program.view("y", shape(f32, "n"), x, 0, {1});
  const std::string text = error_text([&] { program.executable().run({Array(f32, {1 << 14})}); });
  EXPECT_NE(text.find("for the intermediates and outputs of `together` at n=16384"), std::string::npos) << text;
}

/// y[i] = table[ids[i]], rows of the grid one by one.
Executable lookup(const runtime::RuntimeOptions& options = {}) {
  LoopBuilder k("lookup");
  const Extent rows = Extent::name("rows");
  const int i = k.axis("i", kN);
  const int ids = k.input(i64, kN);
  const int table = k.input(f32, rows);
  const int y = k.output(f32, kN);
  k.site("never");
  const int site = k.site("gather: position {position} is not in [0, {size}) ({position})\n  at node \"/emb\"");
  k.phase({i}, [&] {
    const int id = k.load(ids, affine({{i, 1}}));
    k.store(y, affine({{i, 1}}),
            k.load(table, affine({}), {}, {{.value = id, .stride = 1, .size = rows, .site = site}}));
  });
  ProgramBuilder program("lookup");
  const int ids_buffer = program.input("ids", shape(i64, "n"));
  const int table_buffer = program.input("table", shape(f32, "rows"));
  program.step(k.kernel(), {ids_buffer, table_buffer, program.output("y", shape(f32, "n"))});
  return program.executable({}, options);
}

TEST(RunErrors, AFailedLookupNamesThePlaceAndTheNextRunWorks) {
  Pool pool(3);
  const Executable executable = lookup({.device = std::make_shared<devices::CpuDevice>(pool)});
  const Array table = Array::from<float>({3}, {10, 20, 30});
  for (const int64_t n : {3, 200000}) {
    Array ids(i64, {n});
    EXPECT_EQ(executable.run({ids, table})[0].at(n - 1), 10);
    ids.mutable_values<int64_t>()[2] = 3;
    EXPECT_EQ(error_text([&] { executable.run({ids, table}); }),
              "gather: position 3 is not in [0, 3) (3)\n  at node \"/emb\"");
    ids.mutable_values<int64_t>()[2] = -1;
    EXPECT_EQ(error_text([&] { executable.run({ids, table}); }),
              "gather: position -1 is not in [0, 3) (-1)\n  at node \"/emb\"");
    ids.mutable_values<int64_t>()[2] = 2;
    EXPECT_EQ(executable.run({ids, table})[0].at(2), 30);
  }
}

TEST(RunErrors, TheFirstFailureInOrderIsReported) {
  Pool pool(4);
  const Executable executable = lookup({.device = std::make_shared<devices::CpuDevice>(pool)});
  Array ids(i64, {100000});
  ids.mutable_values<int64_t>()[500] = 77;
  ids.mutable_values<int64_t>()[99999] = 88;
  for (int round = 0; round < 20; ++round) {
    EXPECT_EQ(error_text([&] { executable.run({ids, Array(f32, {3})}); }).substr(0, 19), "gather: position 77");
  }
}

TEST(RunErrors, ARoutinesErrorReachesTheCaller) {
  ProgramBuilder program("routine");
  const int x = program.input("x", shape(f32, "n"));
  const int update = program.input("update", shape(f32, 1));
  const int at = program.input("at", shape(i64, 1));
  const int y = program.output("y", shape(f32, "n"));
  program.library(ScatterRoutine{.op = ScatterOp::add, .axes = {0}, .x_batch = {}, .index_batch = {}, .place = "/put"},
                  {x, update, at}, {y}, {shape(f32, "n"), shape(f32, 1), shape(i64, 1), shape(f32, "n")});
  const Executable executable = program.executable();
  const auto run = [&](int64_t size) {
    return executable.run({Array(f32, {size}), Array::full(f32, {1}, 7), Array::from<int64_t>({1}, {2})})[0];
  };
  EXPECT_EQ(error_text([&] { run(2); }),
            "scatter: position 2 is out of range for axis 0 of size 2\n  at node \"/put\"");
  EXPECT_EQ(run(3).at(2), 7);
}

}  // namespace
}  // namespace tenon::errors_test
