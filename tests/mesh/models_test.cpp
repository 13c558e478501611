// Built-in models in small, split by data, by weights and both, over four ranks: outputs, and steps of training.
#include "tenon/models.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "mesh/exchange/threads.h"
#include "support/arrays.h"
#include "support/equivalence.h"
#include "support/on_mesh.h"
#include "tenon/interpreter.h"
#include "tenon/losses.h"
#include "tenon/ops.h"
#include "tenon/optimizers.h"

namespace tenon::mesh::models_test {
namespace {

// As Megatron has it: what projects to heads and to the hidden layer by columns, what projects back by rows.
constexpr const char* kTensorParallel =
    "*.query.weight.1=model,*.query.bias.0=model,*.key.weight.1=model,*.key.bias.0=model,*.value.weight.1=model,"
    "*.value.bias.0=model,*.attention.output.weight.0=model,*.up.weight.1=model,*.up.bias.0=model,*.down.weight.0="
    "model";

struct Case {
  std::string name;
  Model model;
  Bindings bindings;
  std::string by_data, by_weights;
};

std::vector<Case> cases() {
  return {
      {"mlp",
       mlp({.inputs = 12, .hidden = 10, .outputs = 5}),
       {{"batch", 7}},
       "batch=data",
       "layers.0.weight.1=model,layers.1.weight.0=model"},
      {"small_cnn", small_cnn({.width = 4, .image = 8}), {{"batch", 5}}, "batch=data", "*.weight.0=model"},
      {"resnet",
       resnet({.blocks = {1, 1}, .width = 6, .classes = 5}),
       {{"batch", 3}, {"height", 9}, {"width", 8}},
       "batch=data",
       "*.weight.0=model"},
      {"bert",
       bert({.layers = 2, .heads = 4, .width = 16, .hidden = 24}),
       {{"batch", 3}, {"seq", 5}},
       "batch=data",
       kTensorParallel},
      {"gpt2",
       gpt2({.layers = 2, .heads = 4, .width = 16, .vocabulary = 11, .positions = 16}),
       {{"batch", 3}, {"seq", 2}, {"past", 3}, {"total", 5}},
       "batch=data",
       "*.weight.1=model"},
      {"vit",
       vit({.image = 8, .patch = 4, .width = 12, .hidden = 20, .classes = 3, .layers = 1, .heads = 2}),
       {{"batch", 3}},
       "batch=data",
       "*.weight.1=model"},
      {"lstm",
       lstm_lm({.vocabulary = 9, .width = 6, .hidden = 5, .layers = 1}),
       {{"batch", 3}, {"seq", 4}},
       "batch=data",
       "*.weight.1=model"},
  };
}

std::vector<Array> inputs_of(const Case& each, const Graph& graph) {
  std::vector<Array> inputs = random_inputs(graph, each.bindings, 3);
  const std::vector<Array> weights = initial_values(each.model);
  std::ranges::copy(weights, inputs.begin() + static_cast<std::ptrdiff_t>(each.model.data_inputs));
  return inputs;
}

class BuiltInModels : public testing::TestWithParam<size_t> {};

TEST_P(BuiltInModels, EqualTheWholeByDataByWeightsAndBoth) {
  const Case each = cases()[GetParam()];
  const std::vector<Array> inputs = inputs_of(each, each.model.graph);
  const std::string both = each.by_data + "," + each.by_weights;
  for (const auto& [mesh, sharding] :
       {std::pair("data=4", each.by_data), std::pair("model=4", each.by_weights), std::pair("data=2,model=2", both)}) {
    EXPECT_EQ(mesh_difference(each.model.graph, mesh, sharding, inputs, each.bindings).value_or(""), "") << each.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, BuiltInModels, testing::Range(size_t{0}, cases().size()),
                         [](const auto& tested) { return cases()[tested.param].name; });

TEST(TensorParallel, ATransformerBlockSendsWhatMegatronSends) {
  const Case bert = cases()[3];
  const MeshShape mesh = MeshShape::parse("model=2");
  Bindings large{{"batch", 8}, {"seq", 128}};
  const ShardedGraph graph = shard(bert.model.graph, mesh, Sharding::parse(kTensorParallel), 0, {.typical = large});
  double sent = 0;
  for (const Collective& each : graph.collectives) {
    sent += Collective::sent_share(each.kind, 2) * static_cast<double>(evaluate(each.bytes, large));
  }
  EXPECT_GT(sent, 0);
  // Two sums of the hidden states in each of two blocks.
  EXPECT_LE(sent, 2 * 2 * (2.0 * 1 / 2) * 8 * 128 * 16 * sizeof(float));
}

TEST(TensorParallel, TermsOfASumAreAddedBeforeTheyAreSummed) {
  const Value x = input("x", shape(f32, "n", 6));
  const Value v = input("v", shape(f32, 6, 4));
  const Value w = input("w", shape(f32, 6, 4));
  const Graph graph("two", {x, v, w}, {{"y", sub(matmul(x, v), matmul(exp(x), w))}});
  const ShardedGraph sharded = shard(graph, MeshShape::parse("m=2"), Sharding::parse("x.1=m,v.0=m,w.0=m"), 0);
  ASSERT_EQ(sharded.collectives.size(), 1);
  EXPECT_EQ(sharded.collectives[0].kind, CollectiveKind::all_reduce);
  const Bindings bindings{{"n", 5}};
  EXPECT_EQ(
      mesh_difference(graph, "m=2", "x.1=m,v.0=m,w.0=m", random_inputs(graph, bindings, 2), bindings).value_or(""), "");
}

TEST(TensorParallel, TermsThatOneRankHasKeepTheOrderOfCollectives) {
  // `late` is known to the first rank behind a collective, and nothing to the second.
  const Value x = input("x", shape(f32, "n", 6));
  const Value w = input("w", shape(f32, 6, 6));
  const Value late = exp(matmul(x, w));
  const Value y = add(matmul(relu(x), w), late);
  const Graph graph("late", {x, w}, {{"y", y}, {"z", reduce_max(x, {1})}, {"u", reduce_sum(exp(y), {0})}});
  const Bindings bindings{{"n", 5}};
  const std::vector<Array> inputs = random_inputs(graph, bindings, 2);
  for (const char* mesh : {"m=2", "m=3"}) {
    EXPECT_EQ(mesh_difference(graph, mesh, "x.1=m,w.0=m", inputs, bindings).value_or(""), "");
    EXPECT_EQ(mesh_difference(graph, mesh, "x.1=m,w.0=m", inputs, bindings, {}, {}).value_or(""), "");
  }
}

/// A step of training as `tenon train` has it.
Graph step_of(const Model& model) {
  const Value& logits = model.graph.outputs()[0].value;
  std::vector<Value> inputs = model.graph.inputs();
  const Value labels = input("labels", shape(i64, "batch"));
  inputs.insert(inputs.begin() + static_cast<std::ptrdiff_t>(model.data_inputs), labels);
  const Graph loss("loss", inputs, {{"loss", cross_entropy(logits, labels)}});
  TrainingOptions options;
  for (const Parameter& parameter : model.parameters) {
    if (parameter.trainable) options.parameters.push_back(parameter.name);
  }
  return training_step(loss, adam({.learning_rate = 1e-2}), options);
}

TEST(TensorParallel, GradientsOfATransformerBlockSendWhatMegatronSends) {
  const Case bert = cases()[3];
  const Value target = input("target", shape(f32, "batch", "seq", 16));
  std::vector<Value> inputs = bert.model.graph.inputs();
  inputs.insert(inputs.begin() + static_cast<std::ptrdiff_t>(bert.model.data_inputs), target);
  const Graph loss("loss", inputs, {{"loss", mse_loss(bert.model.graph.outputs()[0].value, target)}});
  TrainingOptions options;
  for (const Parameter& parameter : bert.model.parameters) {
    options.parameters.push_back(parameter.name);
  }
  const Graph step = training_step(loss, sgd(), options);
  const Bindings large{{"batch", 8}, {"seq", 128}};
  const ShardedGraph graph = shard(step, MeshShape::parse("model=2"), Sharding::parse(kTensorParallel), 0,
                                   {.typical = large, .state_stays = true});
  int sums = 0;
  for (const Collective& each : graph.collectives) {
    EXPECT_EQ(each.kind, CollectiveKind::all_reduce) << each.of << ": " << each.reason;
    sums += each.whole.rank() == 3 ? 1 : 0;
  }
  EXPECT_LE(sums, 2 * (2 + 2));  // of two blocks, forward and backward
}

/// Losses of some steps, each with the state that the last one left.
std::vector<double> losses(const Graph& step, std::vector<Array> inputs,
                           const std::function<std::vector<Array>(const std::vector<Array>&)>& run) {
  std::vector<double> result;
  for (int i = 0; i < 10; ++i) {
    const std::vector<Array> outputs = run(inputs);
    result.push_back(outputs[0].at(0));
    for (size_t k = 0; k < outputs.size(); ++k) {
      if (const int to = step.outputs()[k].aliases; to >= 0) inputs[static_cast<size_t>(to)] = outputs[k];
    }
  }
  return result;
}

TEST(Training, TenStepsHaveTheLossesOfOneProcess) {
  for (size_t which = 0; which < 3; ++which) {
    const Case each = cases()[which];
    const Graph step = step_of(each.model);
    std::vector<Array> inputs = random_inputs(step, each.bindings, 4);
    const std::vector<Array> weights = initial_values(each.model);
    const size_t first = each.model.data_inputs + 1;
    std::ranges::copy(weights, inputs.begin() + static_cast<std::ptrdiff_t>(first));
    for (size_t i = first + weights.size(); i < inputs.size(); ++i) {
      inputs[i] = Array(inputs[i].dtype(), inputs[i].dims());  // the optimiser begins with zeros
    }
    const std::vector<double> expected = losses(
        step, inputs, [&](const std::vector<Array>& now) { return interpret(step, now, {.bindings = each.bindings}); });
    EXPECT_LT(expected.back(), expected.front());
    for (const auto& [mesh, sharding] :
         {std::pair("data=3", each.by_data), std::pair("data=2,model=2", each.by_data + "," + each.by_weights)}) {
      const MeshShape parsed = MeshShape::parse(mesh);
      std::vector<std::vector<double>> found(static_cast<size_t>(parsed.rank_count()));
      run_as_threads(parsed.rank_count(), [&](Communicator& world) {
        MeshProgram program(shard(step, parsed, Sharding::parse(sharding), world.rank(), free_network()), world,
                            interpreting());
        found[static_cast<size_t>(world.rank())] =
            losses(step, inputs, [&](const std::vector<Array>& now) { return program.run_whole(now, each.bindings); });
      });
      for (const std::vector<double>& of_rank : found) {
        for (size_t i = 0; i < expected.size(); ++i) {
          EXPECT_NEAR(of_rank[i], expected[i], 1e-3 * std::max(1.0, expected[i])) << each.name << " on " << mesh;
        }
      }
    }
  }
}

TEST(Training, StatesOfTheOptimiserMayStayInParts) {
  const Case each = cases()[0];
  const Graph step = step_of(each.model);
  const Bindings large{{"batch", 4096}};
  const ShardedGraph graph = shard(step, MeshShape::parse("data=2"),
                                   Sharding::parse("batch=data,*.weight.mean.0=data,*.weight.variance.0=data"), 0,
                                   {.typical = large, .state_stays = true});
  std::map<std::string_view, int> counts;
  for (const Collective& collective : graph.collectives) {
    if (collective.whole.rank() == 2) ++counts[name(collective.kind)];
  }
  // The gradient of each of three weights is scattered, and the new weight gathered: what one sum of it would send.
  EXPECT_EQ(counts, (std::map<std::string_view, int>{{"all_gather", 3}, {"reduce_scatter", 3}}));
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    if (const int input = step.outputs()[i].aliases; input >= 0) {
      EXPECT_EQ(graph.output_layouts[i], graph.input_layouts[static_cast<size_t>(input)]);
    }
  }
}

}  // namespace
}  // namespace tenon::mesh::models_test
