// Programs that were written to bytes and read back.
#include "kernel/program/program_bytes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "compiler/lowered.h"
#include "support/error_text.h"
#include "support/model_cases.h"
#include "support/random_graph.h"
#include "tenon/tenon.h"

namespace tenon::program_bytes_test {
namespace {

compiler::Lowered lowered(const Graph& graph) {
  CompileReport report;
  return compiler::lower(graph, {.native = false}, report);
}

/// Each program of what was lowered, read back from its bytes, with the loops that bytes do not hold.
void expect_same_bytes(compiler::Lowered& graph) {
  const auto keep_loops = [](const auto& self, const Program& from, Program& to) -> void {
    to.kernels = from.kernels;
    ASSERT_EQ(from.steps.size(), to.steps.size());
    for (size_t i = 0; i < from.steps.size(); ++i) {
      const std::span<const Program> bodies = bodies_of(from.steps[i]);
      ASSERT_EQ(bodies.size(), bodies_of(to.steps[i]).size());
      for (size_t k = 0; k < bodies.size(); ++k) {
        self(self, bodies[k], bodies_of(to.steps[i])[k]);
      }
    }
  };
  for (compiler::LoweredSegment& segment : graph.segments) {
    const std::vector<std::byte> bytes = to_bytes(segment.program);
    Program read = program_from_bytes(bytes);
    EXPECT_TRUE(read == segment.program) << segment.program.name;
    EXPECT_EQ(to_bytes(read), bytes);
    keep_loops(keep_loops, segment.program, read);
    segment.program = std::move(read);
  }
}

TEST(ProgramBytes, OfModelsRunAsBefore) {
  for (const ModelCase& each : model_cases()) {
    const Model model = each.build();
    compiler::Lowered graph = lowered(model.graph);
    CompileReport report;
    const Executable before = compiler::compile(lowered(model.graph), {.native = false}, report);
    expect_same_bytes(graph);
    const Executable after = compiler::compile(std::move(graph), {.native = false}, report);
    const std::vector<Array> inputs = inputs_of(model, each.bindings.front(), each.tokens);
    const std::vector<Array> expected = before.run(inputs, {.bindings = each.bindings.front()});
    const std::vector<Array> results = after.run(inputs, {.bindings = each.bindings.front()});
    EXPECT_TRUE(std::ranges::equal(results, expected, same_bits)) << each.name;
  }
}

TEST(ProgramBytes, OfRandomGraphsRunAsBefore) {
  for (uint64_t seed = 0; seed < 150; ++seed) {
    const RandomGraph random = random_graph(seed);
    CompileReport report;
    compiler::Lowered graph = lowered(random.graph);
    expect_same_bytes(graph);
    const Executable after = compiler::compile(std::move(graph), {.native = false}, report);
    for (const Bindings& bindings : random_bindings(random.graph, seed, 2)) {
      const std::vector<Array> inputs = random_graph_inputs(random, bindings, seed);
      std::vector<Array> expected;
      try {
        expected = compile(random.graph, {.native = false}).run(inputs, {.bindings = bindings});
      } catch (const Error&) {
        EXPECT_THROW((void)after.run(inputs, {.bindings = bindings}), Error) << seed;
        continue;
      }
      EXPECT_TRUE(std::ranges::equal(after.run(inputs, {.bindings = bindings}), expected, same_bits)) << seed;
    }
  }
}

/// With steps of all kinds.
std::vector<std::byte> small_program() {
  const Value x = input("x", shape(f32, "n", 8));
  const auto body = [](const Value&, const std::vector<Value>& carried, const std::vector<Value>& elements) {
    return ScanStep{.carried = {carried[0] + elements[0]}, .stacked = {}};
  };
  const Value summed = scan(Extent::name("n"), {constant(Array(f32, {8}))}, {x}, body).carried[0];
  return to_bytes(lowered(Graph({x}, {{"y", softmax(x * 2.0)}, {"z", sort(x, 1)}, {"s", summed}})).segments[0].program);
}

TEST(ProgramBytes, ThatAreNoneAreErrors) {
  EXPECT_EQ(error_text([] { program_from_bytes({}); }), "the bytes end at 0, where 4 more should follow byte 0");
  std::vector<std::byte> bytes = small_program();
  bytes.push_back(std::byte{0});
  EXPECT_NE(error_text([&] { program_from_bytes(bytes); }).find("1 bytes are left over"), std::string::npos);
  bytes[0] = std::byte{0};
  EXPECT_EQ(error_text([&] { program_from_bytes(bytes); }), "these bytes are no program");
  bytes = small_program();
  bytes[4] = std::byte{9};
  EXPECT_EQ(error_text([&] { program_from_bytes(bytes); }), "a program of version 9, where 6 can be read");
}

TEST(ProgramBytes, ThatAreDamagedDoNoHarm) {
  const std::vector<std::byte> whole = small_program();
  const auto try_to_read = [](const std::vector<std::byte>& bytes) {
    try {
      (void)program_from_bytes(bytes);
      return true;
    } catch (const Error&) {
      return false;
    }
  };
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(try_to_read({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)})) << size;
  }
  std::mt19937_64 rng(1);
  int refused = 0;
  constexpr int kTries = 2000;
  for (int i = 0; i < kTries; ++i) {
    std::vector<std::byte> bytes = whole;
    for (int k = 0; k < 3; ++k) {
      bytes[rng() % bytes.size()] = static_cast<std::byte>(rng());
    }
    refused += try_to_read(bytes) ? 0 : 1;
  }
  EXPECT_GT(refused, kTries / 4);
}

}  // namespace
}  // namespace tenon::program_bytes_test
