// Train a small network on two spirals: gradients and the optimiser are part of one graph, and its state is aliased
// outputs. It is compiled once; the batch may have any size.
#include <tenon/tenon.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <iterator>
#include <random>

using namespace tenon;

namespace {

struct Batch {
  Array points, labels;
};

/// Points on two intertwined spirals, and which spiral each is on.
Batch spirals(int64_t count, std::mt19937& rng) {
  Batch batch{Array(f32, {count, 2}), Array(i64, {count})};
  std::uniform_real_distribution<float> unit(0.1f, 1.0f);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t label = static_cast<int64_t>(rng() % 2);
    const float radius = unit(rng);
    const float angle = 5 * radius + 3.14159f * static_cast<float>(label);
    batch.points.mutable_values<float>()[static_cast<size_t>(2 * i)] = radius * std::cos(angle);
    batch.points.mutable_values<float>()[static_cast<size_t>(2 * i + 1)] = radius * std::sin(angle);
    batch.labels.mutable_values<int64_t>()[static_cast<size_t>(i)] = label;
  }
  return batch;
}

}  // namespace

int main() {
  // The model, its loss, and one training step as a graph: new weights and states take over the old ones' memory.
  const Model model = mlp({.inputs = 2, .hidden = 32, .outputs = 2, .layers = 3});
  const Value labels = input("labels", shape(i64, "batch"));
  std::vector<Value> inputs = model.graph.inputs();
  inputs.insert(inputs.begin() + 1, labels);
  const Graph loss("loss", inputs, {{"loss", cross_entropy(model.graph.outputs()[0].value, labels)}});
  TrainingOptions options;
  for (const Parameter& parameter : model.parameters) {
    options.parameters.push_back(parameter.name);
  }
  const Graph step = training_step(loss, adam({.learning_rate = 1e-2}), options);
  const Executable executable = compile(step);

  // Weights start at random, optimiser states and the step counter at zero.
  std::vector<Array> state = initial_values(model);
  for (size_t i = 2 + state.size(); i < step.inputs().size(); ++i) {
    state.emplace_back(step.inputs()[i].dtype(), step.inputs()[i].shape().dims());
  }
  std::mt19937 rng(1);
  double last = 0;
  for (int i = 0; i < 300; ++i) {
    const Batch batch = spirals(40 + i % 3, rng);
    std::vector<Array> arguments{batch.points, batch.labels};
    std::ranges::move(state, std::back_inserter(arguments));  // given: the new state is written over the old
    const std::vector<Array> results = executable.run(std::move(arguments));
    for (size_t k = 0; k < results.size(); ++k) {
      if (step.outputs()[k].aliases >= 2) {
        state[static_cast<size_t>(step.outputs()[k].aliases) - 2] = results[k];
      }
    }
    last = results[0].at(0);
    if (i % 100 == 0) {
      std::cout << "step " << i << "  loss " << last << "\n";
    }
  }
  std::cout << "at the end  loss " << last << "\n";
  return last < 0.3 ? 0 : 1;
}
