// A small CNN, trained step by step through the interpreter, learns digits it has not seen.
#include <gtest/gtest.h>

#include "ir/node.h"
#include "support/digits.h"
#include "tenon/tenon.h"

namespace tenon::training_test {
namespace {

double accuracy(const Array& logits, const Array& labels) {
  int64_t right = 0;
  for (int64_t n = 0; n < labels.size(); ++n) {
    int64_t best = 0;
    for (int64_t c = 1; c < 10; ++c) {
      best = logits.at(n * 10 + c) > logits.at(n * 10 + best) ? c : best;
    }
    right += best == static_cast<int64_t>(labels.at(n)) ? 1 : 0;
  }
  return static_cast<double>(right) / static_cast<double>(labels.size());
}

TEST(SlowTraining, ASmallCnnLearnsDigits) {
  const Model model = small_cnn({.channels = 1, .width = 8, .classes = 10, .image = 12});
  std::vector<Value> inputs = model.graph.inputs();
  const Value labels = input("labels", shape(i64, "batch"));
  inputs.insert(inputs.begin() + 1, labels);
  const Graph loss("loss", inputs, {{"loss", cross_entropy(model.graph.outputs()[0].value, labels)}});
  TrainingOptions training;
  for (const Parameter& parameter : model.parameters) {
    training.parameters.push_back(parameter.name);
  }
  const Graph step = training_step(loss, adam({.learning_rate = 5e-3}), training);

  std::mt19937_64 rng(2026);
  // Data, labels, weights, then optimiser states and the step counter, which start as zeros.
  std::vector<Array> state = initial_values(model);
  for (size_t i = 2 + state.size(); i < step.inputs().size(); ++i) {
    const Shape& shape = step.inputs()[i].shape();
    state.emplace_back(shape.dtype(), shape.dims());
  }
  const auto test_accuracy = [&](const Digits& test) {
    std::vector<Array> arguments{test.images};
    arguments.insert(arguments.end(), state.begin(),
                     state.begin() + static_cast<std::ptrdiff_t>(model.parameters.size()));
    return accuracy(interpret(model.graph, arguments)[0], test.labels);
  };
  const Digits test = draw_digits(300, rng);
  const double before = test_accuracy(test);
  double first_loss = 0;
  double last_loss = 0;
  for (int i = 0; i < 500; ++i) {
    const Digits batch = draw_digits(i % 2 == 0 ? 32 : 27, rng);  // one graph, whatever the size of the batch
    std::vector<Array> arguments{batch.images, batch.labels};
    arguments.insert(arguments.end(), state.begin(), state.end());
    const std::vector<Array> out = interpret(step, arguments);
    for (size_t k = 0; k < out.size(); ++k) {
      const int aliased = step.outputs()[k].aliases;
      if (aliased >= 2) {
        state[static_cast<size_t>(aliased) - 2] = out[k];
      }
    }
    (i == 0 ? first_loss : last_loss) = out[0].at(0);
  }
  EXPECT_LT(before, 0.4);
  EXPECT_LT(last_loss, first_loss / 3);
  EXPECT_GT(test_accuracy(test), 0.9);
}

}  // namespace
}  // namespace tenon::training_test
