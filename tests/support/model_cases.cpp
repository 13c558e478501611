#include "support/model_cases.h"

#include "support/arrays.h"
#include "tenon/tenon.h"

namespace tenon {

std::vector<ModelCase> model_cases() {
  const auto images = [](int64_t size) {
    return std::vector<Bindings>{{{"batch", 1}, {"height", size}, {"width", size}},
                                 {{"batch", 2}, {"height", size + 1}, {"width", size - 3}},
                                 {{"batch", 0}, {"height", size}, {"width", size}}};
  };
  const std::vector<Bindings> sequences{
      {{"batch", 2}, {"seq", 5}}, {{"batch", 1}, {"seq", 1}}, {{"batch", 0}, {"seq", 3}}};
  const std::vector<Bindings> batches{{{"batch", 1}}, {{"batch", 3}}, {{"batch", 0}}};
  return {
      {"mlp", [] { return mlp({.inputs = 6, .hidden = 5, .outputs = 3}); }, batches},
      {"small_cnn", [] { return small_cnn({.channels = 2, .width = 3, .classes = 4, .image = 8}); }, batches},
      {"resnet18", [] { return resnet({.blocks = {1, 1, 1, 1}, .width = 4, .classes = 5}); }, images(33)},
      {"resnet50", [] { return resnet({.blocks = {1, 1, 1, 1}, .bottleneck = true, .width = 2, .classes = 5}); },
       images(33)},
      {"resnet_training", [] { return resnet({.blocks = {1, 1}, .width = 2, .classes = 3, .training = true}); },
       images(16)},
      {"mobilenet_v2", [] { return mobilenet_v2({.width = 0.1, .classes = 5}); }, images(32)},
      {"efficientnet_b0", [] { return efficientnet_b0({.width = 0.1, .classes = 5}); }, images(32)},
      {"vit",
       [] { return vit({.image = 8, .patch = 4, .width = 8, .hidden = 12, .classes = 3, .layers = 2, .heads = 2}); },
       batches},
      {"bert", [] { return bert({.layers = 2, .heads = 2, .width = 8, .hidden = 12}); }, sequences},
      {"bert_tokens",
       [] { return bert({.layers = 1, .heads = 2, .width = 8, .hidden = 12, .vocabulary = 11, .positions = 9}); },
       sequences, 2},
      {"gpt2",
       [] { return gpt2({.layers = 2, .heads = 2, .width = 8, .vocabulary = 13, .positions = 16}); },
       {{{"batch", 2}, {"seq", 4}, {"past", 0}, {"total", 6}},
        {{"batch", 1}, {"seq", 1}, {"past", 3}, {"total", 4}},
        {{"batch", 0}, {"seq", 2}, {"past", 1}, {"total", 5}}},
       13},
      {"unet",
       [] { return unet({.channels = 1, .width = 2, .classes = 2, .levels = 2}); },
       {{{"batch", 1}, {"rows", 2}, {"columns", 3}},
        {{"batch", 2}, {"rows", 1}, {"columns", 1}},
        {{"batch", 0}, {"rows", 1}, {"columns", 2}}}},
      {"lstm_lm", [] { return lstm_lm({.vocabulary = 7, .width = 3, .hidden = 4}); }, sequences, 7},
  };
}

std::vector<Array> exact_inputs(const Model& model, const Bindings& bindings, int64_t tokens) {
  std::mt19937_64 rng(11);
  std::vector<Array> inputs;
  for (size_t i = 0; i < model.data_inputs; ++i) {
    const Value& in = model.graph.inputs()[i];
    const bool whole = is_integer(in.dtype());
    inputs.push_back(random_array(in.dtype(), resolve(in.shape(), bindings).dims(), rng, whole ? 0 : -1,
                                  whole ? static_cast<double>(tokens) - 0.01 : 1));
  }
  for (const Parameter& parameter : model.parameters) {
    Array value = initial_value(parameter).cast(f64);
    for (double& x : value.mutable_values<double>()) {
      x += std::uniform_real_distribution<double>(0.0, 0.1)(rng);
    }
    inputs.push_back(value);
  }
  return inputs;
}

std::vector<Array> inputs_of(const Model& model, const Bindings& bindings, int64_t tokens) {
  std::vector<Array> inputs = exact_inputs(model, bindings, tokens);
  for (size_t i = model.data_inputs; i < inputs.size(); ++i) {
    inputs[i] = inputs[i].cast(f32);
  }
  return inputs;
}

}  // namespace tenon
