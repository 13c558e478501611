// What a compile decides is one value: what runs and what is shown come from it.
#include "compiler/lowered.h"

#include <fmt/format.h>

#include <unordered_set>

#include "compiler/inspect.h"
#include "ir/node.h"
#include "support/arrays.h"
#include "tenon/control.h"
#include "tenon/nn.h"
#include "tenon/selection.h"

namespace tenon::compiler::lowered_test {
namespace {

using Values = std::vector<Value>;

Value in(const char* name, const char* text) { return input(name, Shape::parse(text)); }

Lowered lowered_of(const Graph& graph, const CompileOptions& options = {}) {
  CompileReport report;
  return lower(graph, options, report);
}

/// Two kernels, the second of rows too long to fuse with a product.
Graph plain() {
  const Value x = in("x", "f32[row, depth]");
  const Value w = in("w", "f32[depth, col]");
  return {"plain", {x, w}, {{"y", softmax(matmul(relu(x), w), -1)}, {"z", reduce_sum(exp(x), {0})}}};
}

/// A product of rows that data decide, behind one of all.
Graph data_decided() {
  const Value x = in("x", "f32[row, depth]");
  const Value w = in("w", "f32[depth, col]");
  const Value kept = compress(x, gt(reduce_sum(matmul(x, w), {1}), 0), 0, "kept");
  return {"data_decided", {x, w}, {{"y", matmul(kept, w)}, {"at", nonzero(x, "found")}}};
}

Graph with_loop() {
  const Value x = in("x", "f32[trip, row, 8]");
  const Value start = in("start", "f32[row, 8]");
  const Value w = in("w", "f32[8, 8]");
  const ScanStep result = scan({start}, {x}, [&](const Value&, const Values& carried, const Values& elements) {
    const Value next = tanh(matmul(carried[0], w) + elements[0]);
    return ScanStep{.carried = {next}, .stacked = {next}};
  });
  return {"with_loop", {x, start, w}, {{"last", exp(result.carried[0])}, {"all", result.stacked[0]}}};
}

/// One product in a branch, two in the other.
Graph with_branches() {
  const Value flag = in("flag", "bool[]");
  const Value x = in("x", "f32[row, 8]");
  const Value w = in("w", "f32[8, 8]");
  const Values result = if_then_else(
      flag, [](const Values& v) { return Values{matmul(v[0], v[1])}; },
      [](const Values& v) { return Values{matmul(relu(matmul(v[0], v[1])), v[1])}; }, {x, w});
  return {"with_branches", {flag, x, w}, {{"y", result[0]}}};
}

struct NamedGraph {
  const char* name;
  Graph (*make)();
};

class LoweredGraphs : public testing::TestWithParam<NamedGraph> {
 protected:
  const Graph graph_ = GetParam().make();
};

TEST_P(LoweredGraphs, HasTheStepsThatRun) {
  const Lowered lowered = lowered_of(graph_);
  const Executable executable = tenon::compile(graph_);
  const std::vector<LoweredStep> steps = lowered.steps();
  ASSERT_EQ(steps.size(), executable.steps().size());
  EXPECT_EQ(lowered.segments.size(), executable.segments().size());
  for (size_t i = 0; i < steps.size(); ++i) {
    EXPECT_EQ(steps[i].step.label, executable.steps()[i].label);
    EXPECT_EQ(steps[i].step.flops, executable.steps()[i].flops);
    EXPECT_EQ(steps[i].step.boundary, executable.steps()[i].boundary);
  }
}

TEST_P(LoweredGraphs, NamesWhatEachStepComputes) {
  const Lowered lowered = lowered_of(graph_);
  for (const LoweredSegment& segment : lowered.segments) {
    ASSERT_EQ(segment.nodes.size(), segment.program.steps.size());
    const std::unordered_set<const Node*> all(segment.graph.nodes().begin(), segment.graph.nodes().end());
    for (size_t i = 0; i < segment.nodes.size(); ++i) {
      const Step& step = segment.program.steps[i];
      EXPECT_FALSE(segment.nodes[i].empty()) << step.label;
      for (const Node* node : segment.nodes[i]) {
        EXPECT_TRUE(all.contains(node)) << step.label;
        EXPECT_TRUE(std::holds_alternative<ControlStep>(step.what) ||
                    step.label.find(op_name(node->op)) != std::string::npos)
            << step.label;
      }
    }
  }
}

TEST_P(LoweredGraphs, ShowsTheKernelsThatAreCompiled) {
  const Lowered lowered = lowered_of(graph_);
  CompileReport report;
  tenon::compile(graph_, {.report = &report});
  const std::vector<const loops::Kernel*> kernels = lowered.kernels();
  ASSERT_EQ(kernels.size(), report.code_of.size());
  std::string shown;
  for (size_t i = 1; i <= lowered.steps().size(); ++i) {
    const Step& step = lowered.steps()[i - 1].step;
    shown += std::holds_alternative<RoutineStep>(step.what) ? "" : step_loops(lowered, static_cast<int64_t>(i));
  }
  for (size_t i = 0; i < kernels.size(); ++i) {
    EXPECT_EQ(kernels[i]->name, report.code_of[i].name);
    EXPECT_NE(shown.find(loops::to_string(*kernels[i])), std::string::npos) << kernels[i]->name;
  }
}

/// One value serves several executables, and stays as it was.
TEST_P(LoweredGraphs, CompilesToWhatTheGraphCompilesTo) {
  const Lowered lowered = lowered_of(graph_);
  const Executable direct = tenon::compile(graph_);
  std::mt19937_64 rng(3);
  std::vector<Array> inputs;
  for (const Value& input : graph_.inputs()) {
    const Bindings sizes = {{"row", 6}, {"depth", 9}, {"col", 5}, {"trip", 3}};
    inputs.push_back(random_array(input.dtype(), resolve(input.shape(), sizes).dims(), rng, -1, 1));
  }
  const std::vector<Array> wanted = direct.run(inputs);
  for (int i = 0; i < 2; ++i) {
    CompileReport report;
    const Executable executable = compile(lowered, {}, report);
    EXPECT_EQ(executable.explain(), direct.explain());
    EXPECT_EQ(executable.capabilities().code, direct.capabilities().code);
    EXPECT_GE(executable.counters().compile_ms, lowered.milliseconds);
    const std::vector<Array> got = executable.run(inputs);
    for (size_t k = 0; k < wanted.size(); ++k) {
      EXPECT_TRUE(same(got[k], wanted[k])) << graph_.outputs()[k].name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, LoweredGraphs,
                         testing::Values(NamedGraph{"plain", plain}, NamedGraph{"data_decided", data_decided},
                                         NamedGraph{"with_loop", with_loop},
                                         NamedGraph{"with_branches", with_branches}),
                         [](const auto& each) { return each.param.name; });

/// What a product is for people: an addition for each multiplication.
TEST(Lowered, CountsFlopsOfWhatRuns) {
  const auto flops = [](const Graph& graph) {
    const Lowered lowered = lowered_of(graph);
    Extent sum = 0;
    for (const LoweredStep& each : lowered.steps()) {
      sum += each.step.flops;
    }
    return sum;
  };
  const Extent row = Extent::name("row");
  const Extent product = 2 * row * Extent::name("depth") * Extent::name("col");
  EXPECT_EQ(flops(plain()), product);
  EXPECT_EQ(flops(data_decided()), product + 2 * Extent::name("kept") * Extent::name("depth") * Extent::name("col"));
  EXPECT_EQ(flops(with_loop()), 2 * 8 * 8 * row * Extent::name("trip"));
  const Extent branches = flops(with_branches());
  EXPECT_EQ(branches.evaluate([](std::string_view) { return 5; }), 2 * 2 * 8 * 8 * 5)
      << branches.to_string() << ": one branch runs, the larger of both";
}

TEST(Lowered, ReportsPassesAndTimeOnce) {
  CompileReport report;
  const Lowered lowered = lower(plain(), {}, report);
  EXPECT_EQ(report.passes.size(), compile_passes().size());
  EXPECT_EQ(report.passes.back().after, lowered.optimized);
  EXPECT_EQ(lowered.given, plain());
  EXPECT_EQ(report.kernels, 0) << "no code yet";
  compile(lowered, {.native = false}, report);
  EXPECT_EQ(report.passes.size(), compile_passes().size());
  EXPECT_EQ(static_cast<size_t>(report.kernels), lowered.kernels().size());
}

/// A weight that tells when it goes, and a product by it.
Graph by_weight(bool& is_gone) {
  constexpr int64_t size = 256;
  auto* const elements = new float[size * size]();
  const std::shared_ptr<std::byte[]> memory(reinterpret_cast<std::byte*>(elements), [&is_gone, elements](std::byte*) {
    is_gone = true;
    delete[] elements;
  });
  const Value x = in("x", "f32[row, 256]");
  return {"product", {x}, {{"y", matmul(x, constant(Array::adopt(f32, {size, size}, memory)))}}};
}

TEST(Lowered, WeightsOfAGraphThatIsGivenAwayAreKeptAsKernelsReadThem) {
  for (const bool native : {true, false}) {
    bool is_gone = false;
    Graph graph = by_weight(is_gone);
    const Executable beside = compile(graph, {.native = native});
    EXPECT_FALSE(is_gone);
    CompileReport report;
    const Executable instead = compile(std::move(graph), {.native = native, .report = &report});
    EXPECT_EQ(is_gone, native) << "the loops' interpreter reads weights as they are";
    EXPECT_EQ(report.passes.size(), compile_passes().size());
    const Array x = Array::full(f32, {3, 256}, 1);
    EXPECT_TRUE(same(instead.run({x})[0], beside.run({x})[0]));
  }
}

TEST(Lowered, AStepThatIsNotThereIsAnError) {
  const Lowered lowered = lowered_of(data_decided());
  const auto count = std::ssize(lowered.steps());
  for (const int64_t number : {int64_t{0}, count + 1}) {
    EXPECT_EQ(error_text([&] { step_loops(lowered, number); }),
              fmt::format("there is no step {}; graph `data_decided` has steps 1 to {}", number, count));
  }
}

}  // namespace
}  // namespace tenon::compiler::lowered_test
