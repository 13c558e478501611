// Training in stages on ranks of their own, in pieces of a batch: losses and weights of several steps are those of one
// process.
#include "mesh/pipeline/training_pipeline.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "mesh/exchange/threads.h"
#include "support/arrays.h"
#include "support/equivalence.h"
#include "support/error_text.h"
#include "tenon/interpreter.h"
#include "tenon/losses.h"
#include "tenon/models.h"
#include "tenon/ops.h"
#include "tenon/partition.h"
#include "tenon/text.h"

namespace tenon::mesh::training_pipeline_test {
namespace {

constexpr int kSteps = 3;

struct Subject {
  Graph loss;
  size_t data_inputs = 0;
  std::vector<std::string> trained;
  std::vector<Array> state;  // parameters, states of the optimiser, the count of steps
  std::vector<std::vector<Array>> batches;
  Graph step;
  UpdateRule rule;
};

Subject subject_of(const Graph& loss, size_t data_inputs, std::vector<std::string> trained, const Bindings& bindings,
                   const std::vector<Array>& weights, const UpdateRule& rule) {
  Subject result;
  result.loss = loss;
  result.data_inputs = data_inputs;
  result.trained = std::move(trained);
  result.rule = rule;
  result.step = training_step(loss, rule, {.parameters = result.trained, .learning_rate_input = true});
  result.state = weights;
  for (size_t i = data_inputs + weights.size(); i + 1 < result.step.inputs().size(); ++i) {
    result.state.emplace_back(result.step.inputs()[i].dtype(), result.step.inputs()[i].shape().dims());
  }
  for (uint64_t batch = 0; batch < kSteps; ++batch) {
    std::vector<Array> inputs = random_inputs(loss, bindings, 7 + batch);
    inputs.resize(data_inputs);
    result.batches.push_back(std::move(inputs));
  }
  return result;
}

/// The model with a target behind its data, and a mean of squares as its loss.
Subject subject_of(const Model& model, const Bindings& bindings, const UpdateRule& rule) {
  const Value& y = model.graph.outputs()[0].value;
  const Value target = input("target", y.shape());
  std::vector<Value> inputs = model.graph.inputs();
  inputs.insert(inputs.begin() + static_cast<std::ptrdiff_t>(model.data_inputs), target);
  std::vector<std::string> trained;
  for (const Parameter& each : model.parameters) {
    if (each.trainable) trained.push_back(each.name);
  }
  return subject_of(Graph(model.graph.name(), inputs, {{"loss", mse_loss(y, target)}}), model.data_inputs + 1,
                    std::move(trained), bindings, initial_values(model), rule);
}

std::vector<Graph> stages_of(const Graph& graph, const Bindings& bindings, int64_t count) {
  const partition::WorkGraph work = partition::work_graph(graph);
  const partition::Plan plan = partition::make_plan(work, bindings, partition::profile_named("cpu64"),
                                                    {.by = "pipeline", .parts = count, .micro_batches = 2});
  std::vector<Graph> stages;
  for (size_t i = 0; i < plan.parts.size(); ++i) {
    stages.push_back(partition::part_graph(work, plan, i));
  }
  return stages;
}

struct Outcome {
  std::vector<double> losses;
  std::vector<Array> state;
};

/// Steps of a function from the inputs of the step to its outputs.
template <class Step>
void make_steps(const Subject& subject, Outcome& outcome, Step&& step) {
  for (const std::vector<Array>& batch : subject.batches) {
    std::vector<Array> inputs = batch;
    inputs.insert(inputs.end(), outcome.state.begin(), outcome.state.end());
    inputs.push_back(Array::scalar(f32, 0.05));
    const std::vector<Array> outputs = step(std::move(inputs));
    outcome.losses.push_back(outputs[0].at(0));
    for (size_t i = 0; i < outputs.size(); ++i) {
      const int place = subject.step.outputs()[i].aliases;
      if (place >= 0) outcome.state[static_cast<size_t>(place) - subject.data_inputs] = outputs[i];
    }
  }
}

std::string compare(const Outcome& found, const Outcome& expected) {
  for (size_t i = 0; i < expected.losses.size(); ++i) {
    if (std::abs(found.losses[i] - expected.losses[i]) > 1e-4 * std::max(1.0, expected.losses[i])) {
      return fmt::format("step {} has the loss {}, should be {}", i, found.losses[i], expected.losses[i]);
    }
  }
  for (size_t i = 0; i < expected.state.size(); ++i) {
    const auto result = close(found.state[i], expected.state[i], 2e-3, 2e-4);
    if (!result) return fmt::format("state {}: {}", i, result.message());
  }
  return "";
}

/// What differs from the interpreter on any rank; nothing when all is well.
std::string difference(const Subject& subject, const std::vector<Graph>& stages, const std::string& mesh,
                       const PipelineOptions& options, const std::string& piece_axis, const Bindings& bindings) {
  Outcome expected{.losses = {}, .state = subject.state};
  make_steps(subject, expected,
             [&](std::vector<Array>&& inputs) { return interpret(subject.step, inputs, {.bindings = bindings}); });
  const MeshShape shape = MeshShape::parse(mesh);
  std::vector<std::string> found(static_cast<size_t>(shape.rank_count()));
  try {
    run_as_threads(shape.rank_count(), [&](Communicator& world) {
      TrainingPipeline pipeline({.step = subject.step,
                                 .loss = subject.loss,
                                 .stages = stages,
                                 .data_inputs = subject.data_inputs,
                                 .trained = subject.trained,
                                 .rule = subject.rule,
                                 .piece_axis = piece_axis},
                                shape, options, world, interpreting());
      Outcome outcome{.losses = {}, .state = subject.state};
      for (size_t i = 0; i < outcome.state.size(); ++i) {
        outcome.state[i] = pipeline.keep(subject.data_inputs + i, outcome.state[i]);
      }
      make_steps(subject, outcome,
                 [&](std::vector<Array>&& inputs) { return pipeline.run(std::move(inputs), bindings); });
      for (size_t i = 0; i < outcome.state.size(); ++i) {
        outcome.state[i] = pipeline.whole(subject.data_inputs + i, outcome.state[i]);
      }
      std::string& own = found[static_cast<size_t>(world.rank())];
      own = compare(outcome, expected);
      const int stages_behind = static_cast<int>(stages.size()) - pipeline.stage();
      if (own.empty() && pipeline.most_pieces() > stages_behind) {
        own = fmt::format("{} pieces at once in stage {}", pipeline.most_pieces(), pipeline.stage());
      }
    });
  } catch (const Error& error) {
    return error.what();
  }
  for (size_t rank = 0; rank < found.size(); ++rank) {
    if (!found[rank].empty()) return fmt::format("rank {}: {}", rank, found[rank]);
  }
  return "";
}

TEST(Schedule, OneForwardOneBackward) {
  const auto text = [](int stage, int stages, int64_t pieces) {
    std::string result;
    for (const PipelineAction& each : one_forward_one_backward(stage, stages, pieces)) {
      result += fmt::format("{}{} ", each.is_forward ? 'f' : 'b', each.piece);
    }
    return result;
  };
  EXPECT_EQ(text(0, 3, 4), "f0 f1 f2 b0 f3 b1 b2 b3 ");
  EXPECT_EQ(text(1, 3, 4), "f0 f1 b0 f2 b1 f3 b2 b3 ");
  EXPECT_EQ(text(2, 3, 4), "f0 b0 f1 b1 f2 b2 f3 b3 ");
  EXPECT_EQ(text(0, 3, 1), "f0 b0 ");
  EXPECT_EQ(text(0, 4, 2), "f0 f1 b0 b1 ");
}

TEST(TrainingPipeline, StepsAreThoseOfOneProcess) {
  const Bindings bindings{{"batch", 7}};
  const Subject subject = subject_of(mlp({.inputs = 9, .hidden = 10, .outputs = 5}), bindings, adam());
  for (const int stages : {1, 2, 3}) {
    for (const int64_t pieces : {1, 2, 3, 9}) {
      EXPECT_EQ(difference(subject, stages_of(subject.loss, bindings, stages), fmt::format("pipe={}", stages),
                           {.along = "pipe", .pieces = pieces}, pieces == 1 ? "" : "batch", bindings),
                "")
          << stages << " stages, " << pieces << " pieces";
    }
  }
}

TEST(TrainingPipeline, StagesAreSharedOutAlongOtherAxes) {
  const Bindings bindings{{"batch", 6}, {"seq", 5}};
  const Subject subject =
      subject_of(bert({.layers = 2, .heads = 2, .width = 8, .hidden = 12}), bindings, sgd({.momentum = 0.9}));
  const std::vector<Graph> stages = stages_of(subject.loss, bindings, 2);
  for (const auto& [mesh, sharding] :
       {std::pair("pipe=2", ""), std::pair("pipe=2,data=2", "batch=data,*.weight.momentum.0=data"),
        std::pair("data=3,pipe=2", "batch=data"),
        std::pair("model=2,pipe=2", "*.up.weight.1=model,*.up.bias.0=model,*.down.weight.0=model")}) {
    EXPECT_EQ(difference(subject, stages, mesh,
                         {.along = "pipe", .pieces = 3, .sharding = Sharding::parse(sharding), .typical = bindings},
                         "batch", bindings),
              "")
        << mesh;
  }
}

/// `shared` is read by the first stage and the last, `a` goes past the second one.
Subject tied(const Bindings& bindings) {
  const Graph loss = parse_graph(
      "graph main(x: f32[batch, 4], target: f32[batch, 4], shared: f32[4, 4], w: f32[4, 4]) {\n"
      "  a = tanh(contract(x, shared, lhs_contract=[1], rhs_contract=[0]))\n"
      "  b = tanh(contract(a, w, lhs_contract=[1], rhs_contract=[0]))\n"
      "  c = sub(add(contract(b, shared, lhs_contract=[1], rhs_contract=[1]), a), target)\n"
      "  return loss=reduce_mean(mul(c, c), [0, 1])\n}");
  std::vector<Array> weights = random_inputs(loss, bindings, 2);
  weights.erase(weights.begin(), weights.begin() + 2);
  return subject_of(loss, 2, {"shared", "w"}, bindings, weights, adam());
}

std::vector<Graph> tied_stages() {
  const auto stage = [](const std::string& text) { return parse_graph("graph main(" + text); };
  return {
      stage("x: f32[batch, 4], shared: f32[4, 4]) { return a=tanh(contract(x, shared, lhs_contract=[1], "
            "rhs_contract=[0])) }"),
      stage("a: f32[batch, 4], w: f32[4, 4]) { return b=tanh(contract(a, w, lhs_contract=[1], rhs_contract=[0])) }"),
      stage("a: f32[batch, 4], b: f32[batch, 4], target: f32[batch, 4], shared: f32[4, 4]) {\n"
            "  c = sub(add(contract(b, shared, lhs_contract=[1], rhs_contract=[1]), a), target)\n"
            "  return loss=reduce_mean(mul(c, c), [0, 1])\n}")};
}

TEST(TrainingPipeline, WeightsOfSeveralStagesAndConnectionsPastStages) {
  for (const int64_t batch : {1, 5}) {
    const Bindings bindings{{"batch", batch}};
    const Subject subject = tied(bindings);
    for (const auto& [mesh, sharding] :
         {std::pair("pipe=3", ""), std::pair("pipe=3,data=2", "batch=data,shared.mean.0=data"),
          std::pair("model=2,pipe=3", "shared.1=model,w.0=model")}) {
      EXPECT_EQ(difference(subject, tied_stages(), mesh,
                           {.along = "pipe", .pieces = 2, .sharding = Sharding::parse(sharding)}, "batch", bindings),
                "")
          << mesh << " at " << batch;
    }
  }
}

TEST(TrainingPipeline, ActivationsOfProductsAreComputedAgain) {
  const Graph stage = parse_graph(
      "graph main(x: f32[batch, 4], w: f32[4, 4], b: f32[4]) {\n"
      "  p = contract(x, w, lhs_contract=[1], rhs_contract=[0])\n"
      "  return y=gelu(add(p, broadcast(b, to=[batch, 4], axes=[1])))\n}");
  const StageGraphs graphs = stage_graphs(stage, {{.output = 0, .reader = 1}}, {1, 2}, {0});
  ASSERT_EQ(graphs.forward.outputs().size(), 2);  // y, and the product
  EXPECT_EQ(op_name(graphs.forward.outputs()[1].value.node().op), "contract");
  EXPECT_EQ(graphs.sums, (std::vector<size_t>{1, 2}));
  EXPECT_EQ(graphs.gives, (std::vector<size_t>{0}));
  EXPECT_EQ(graphs.reads, (std::vector<size_t>{0, 1, 2}));
}

TEST(TrainingPipeline, SaysWhatIsWrong) {
  const Bindings bindings{{"batch", 4}};
  const Subject subject = tied(bindings);
  EXPECT_EQ(difference(subject, tied_stages(), "pipe=2", {.along = "pipe"}, "", bindings),
            "there are 3 stages, and the mesh pipe=2 has 2 ranks along `pipe`");
  EXPECT_EQ(difference(subject, {tied_stages()[1], tied_stages()[2]}, "pipe=2", {.along = "pipe"}, "", bindings),
            "stage 1 needs `a`, which no stage before it gives");
  const Graph norm = parse_graph("graph main(x: f32[batch, 4]) { return y=sub(x, reduce_mean(x, [0])) }");
  EXPECT_NE(error_text([&] { piece_axis(norm, "batch"); }).find("cannot be cut into pieces along `batch`"),
            std::string::npos);
  const Graph drop = parse_graph(
      "graph main(x: f32[batch, 4], key: u64[], counter: u64[]) {\n"
      "  return y=add(x, cast(random(key, counter, shape=u32[batch, 4]), f32))\n}");
  EXPECT_EQ(error_text([&] { piece_axis(drop, "batch"); }),
            "graph `main` cannot be cut into pieces along `batch`: it draws random numbers along it");
}

}  // namespace
}  // namespace tenon::mesh::training_pipeline_test
