// Models in stages on ranks of their own, cut by plans of the partitioner, in pieces of a batch.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "mesh/exchange/threads.h"
#include "mesh/pipeline/pieces_of_batch.h"
#include "mesh/pipeline/pipeline_program.h"
#include "support/arrays.h"
#include "support/equivalence.h"
#include "support/error_text.h"
#include "tenon/interpreter.h"
#include "tenon/models.h"
#include "tenon/partition.h"
#include "tenon/text.h"

namespace tenon::mesh::pipeline_test {
namespace {

std::vector<Graph> stages_of(const Graph& graph, const Bindings& bindings, int64_t count, int64_t pieces) {
  const partition::WorkGraph work = partition::work_graph(graph);
  const partition::Plan plan = partition::make_plan(work, bindings, partition::profile_named("cpu64"),
                                                    {.by = "pipeline", .parts = count, .micro_batches = pieces});
  std::vector<Graph> stages;
  for (size_t i = 0; i < plan.parts.size(); ++i) {
    stages.push_back(partition::part_graph(work, plan, i));
  }
  return stages;
}

/// What differs from the interpreter on any rank, or an error; nothing when all is well.
std::string difference(const Graph& graph, const std::vector<Graph>& stages, const std::string& mesh,
                       const PipelineOptions& options, const std::vector<Array>& inputs, const Bindings& bindings,
                       const Engine& engine = interpreting()) {
  std::vector<std::string> found;
  const MeshShape shape = MeshShape::parse(mesh);
  found.resize(static_cast<size_t>(shape.rank_count()));
  try {
    const std::vector<Array> expected = interpret(graph, inputs, {.bindings = bindings});
    run_as_threads(shape.rank_count(), [&](Communicator& world) {
      PipelineProgram program(graph, stages, shape, options, world, engine);
      for (int repeat = 0; repeat < 2; ++repeat) {
        const std::vector<Array> outputs = program.run(inputs, bindings);
        for (size_t i = 0; i < expected.size(); ++i) {
          const auto result = close(outputs[i], expected[i], 1e-4, 1e-4);
          if (!result) found[static_cast<size_t>(world.rank())] = fmt::format("output {}: {}", i, result.message());
        }
      }
    });
  } catch (const Error& error) {
    return error.what();
  }
  for (const std::string& each : found) {
    if (!each.empty()) return each;
  }
  return "";
}

std::vector<Array> inputs_of(const Model& model, const Bindings& bindings) {
  std::vector<Array> inputs = random_inputs(model.graph, bindings, 3);
  const std::vector<Array> weights = initial_values(model);
  for (size_t i = 0; i < weights.size(); ++i) {
    inputs[model.data_inputs + i] = weights[i];
  }
  return inputs;
}

TEST(Pipeline, StagesInPiecesGiveWhatTheWholeGives) {
  const Model model = bert({.layers = 4, .heads = 2, .width = 8, .hidden = 12});
  for (const auto& [batch, pieces] : {std::pair(1, 1), std::pair(5, 2), std::pair(3, 4), std::pair(8, 4)}) {
    const Bindings bindings{{"batch", batch}, {"seq", 5}};
    for (const int stages : {2, 3}) {
      EXPECT_EQ(
          difference(model.graph, stages_of(model.graph, bindings, stages, pieces), fmt::format("pipe={}", stages),
                     {.along = "pipe", .pieces = pieces}, inputs_of(model, bindings), bindings),
          "")
          << batch << " in " << pieces << " over " << stages;
    }
  }
}

TEST(Pipeline, StagesAreSharedOutAlongOtherAxes) {
  const Model model = bert({.layers = 2, .heads = 2, .width = 8, .hidden = 12});
  const Bindings bindings{{"batch", 7}, {"seq", 4}};
  const std::vector<Graph> stages = stages_of(model.graph, bindings, 2, 3);
  for (const auto& [mesh, sharding] :
       {std::pair("pipe=2,data=2", "batch=data"), std::pair("data=3,pipe=2", "batch=data"),
        std::pair("model=2,pipe=2", "*.up.weight.1=model,*.down.weight.0=model")}) {
    EXPECT_EQ(
        difference(model.graph, stages, mesh, {.along = "pipe", .pieces = 3, .sharding = Sharding::parse(sharding)},
                   inputs_of(model, bindings), bindings),
        "")
        << mesh;
  }
}

TEST(Pipeline, ConnectionsOverStagesGoThroughThem) {
  const Graph graph = parse_graph(
      "graph main(x: f32[batch, 4], w: f32[4, 4]) {\n"
      "  a = exp(contract(x, w, lhs_contract=[1], rhs_contract=[0]))\n"
      "  b = tanh(contract(a, w, lhs_contract=[1], rhs_contract=[0]))\n"
      "  c = contract(b, w, lhs_contract=[1], rhs_contract=[0])\n"
      "  return y=add(c, a), first=a\n}");
  const auto stage = [](const std::string& text) { return parse_graph("graph main(" + text); };
  const std::vector<Graph> stages{
      stage("x: f32[batch, 4], w: f32[4, 4]) { return first=exp(contract(x, w, lhs_contract=[1], rhs_contract=[0])) }"),
      stage("first: f32[batch, 4], w: f32[4, 4]) { return b=tanh(contract(first, w, lhs_contract=[1], "
            "rhs_contract=[0])) }"),
      stage("first: f32[batch, 4], b: f32[batch, 4], w: f32[4, 4]) { return y=add(contract(b, w, lhs_contract=[1], "
            "rhs_contract=[0]), first) }")};
  for (const int64_t batch : {0, 1, 6}) {
    const Bindings bindings{{"batch", batch}};
    EXPECT_EQ(difference(graph, stages, "pipe=3", {.along = "pipe", .pieces = 2}, random_inputs(graph, bindings, 1),
                         bindings),
              "");
  }
  const Bindings bindings{{"batch", 6}};
  EXPECT_EQ(difference(graph, stages, "pipe=3", {.along = "pipe", .pieces = 3}, random_inputs(graph, bindings, 1),
                       bindings, compiling({.disk_cache = false}, 1)),
            "");
}

TEST(Pipeline, SaysWhatIsWrong) {
  const Graph graph = parse_graph(
      "graph main(x: f32[batch, 4]) {\n"
      "  m = reduce(x, op=max, axes=[0])\n  return y=exp(sub(x, m))\n}");
  const std::string text = error_text([&] { piece_axis(graph); });
  EXPECT_NE(text.find("graph `main` cannot be cut into pieces along `batch`"), std::string::npos) << text;
  const Graph sum = parse_graph("graph main(x: f32[batch, 4]) { return y=reduce(x, op=sum, axes=[1]), n=exp(x) }");
  EXPECT_EQ(piece_axis(sum), "batch");
  const Graph none = parse_graph("graph main(x: f32[3, 4]) { return y=exp(x) }");
  EXPECT_EQ(error_text([&] { piece_axis(none); }), "graph `main` has no input with a named axis to be cut along");
  const std::vector<Array> inputs = random_inputs(sum, {{"batch", 3}}, 1);
  EXPECT_EQ(difference(sum, {sum}, "pipe=2", {.along = "pipe"}, inputs, {{"batch", 3}}),
            "there are 1 stages, and the mesh pipe=2 has 2 ranks along `pipe`");
  EXPECT_EQ(difference(sum, {sum}, "pipe=1", {.along = "data"}, inputs, {{"batch", 3}}),
            "the mesh pipe=1 has no axis `data`");
}

}  // namespace
}  // namespace tenon::mesh::pipeline_test
