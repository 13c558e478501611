// Modules, their names and states, and training with them.
#include "tenon/modules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>

#include "support/arrays.h"
#include "support/error_text.h"
#include "tenon/autograd.h"
#include "tenon/compile.h"
#include "tenon/losses.h"
#include "tenon/nn.h"
#include "tenon/optim.h"
#include "tenon/realizations.h"

namespace tenon::modules_test {
namespace {

struct Net : nn::Module {
  nn::Linear hidden = child("hidden", nn::Linear(4, 8));
  nn::Linear out = child("out", nn::Linear(8, 3));
  Tensor operator()(const Tensor& x) const { return out(relu(hidden(x))); }
};

std::vector<std::string> names(const nn::NamedTensors& tensors) {
  std::vector<std::string> result;
  for (const auto& [name, tensor] : tensors) {
    result.push_back(name);
  }
  return result;
}

Array random(std::vector<int64_t> dims, uint64_t seed) {
  std::mt19937_64 rng(seed);
  return random_array(Dtype::f32, std::move(dims), rng, -1, 1);
}

TEST(Modules, HaveParametersByName) {
  const Net net;
  EXPECT_EQ(names(net.named_parameters()),
            (std::vector<std::string>{"hidden.weight", "hidden.bias", "out.weight", "out.bias"}));
  EXPECT_EQ(net.parameter_count(), 4 * 8 + 8 + 8 * 3 + 3);
  const nn::Sequential stack(nn::Conv2d(1, 2, {3}), nn::BatchNorm(2), nn::Activation("relu"));
  EXPECT_EQ(names(stack.named_parameters()), (std::vector<std::string>{"0.weight", "0.bias", "1.weight", "1.bias"}));
  EXPECT_EQ(names(stack.named_buffers()),
            (std::vector<std::string>{"1.running_mean", "1.running_var", "1.num_batches_tracked"}));
}

TEST(Modules, BeginWithinTheirBounds) {
  manual_seed(3);
  clear_programs();
  clear_realizations();
  const nn::Linear wide(100, 50);
  double largest = 0;
  double sum = 0;
  for (const float x : wide.weight.to_array().values<float>()) {
    largest = std::max(largest, std::abs(static_cast<double>(x)));
    sum += static_cast<double>(x);
  }
  EXPECT_LE(largest, 0.1);
  EXPECT_GT(largest, 0.095);
  EXPECT_NEAR(sum / 5000, 0, 0.005);
  const nn::Linear other(10, 70);
  EXPECT_EQ(realization_counts().compiles, 1) << "one program begins weights of all sizes";
}

TEST(Modules, BatchNormKeepsStatisticsInTraining) {
  nn::BatchNorm norm(2);
  const Array data = random({8, 2, 3}, 5);
  const Tensor y = norm(tensor(data));
  EXPECT_NEAR(y.mean().item(), 0, 1e-5);
  EXPECT_EQ(norm.num_batches_tracked.item(), 1);
  double mean = 0;
  for (int64_t i = 0; i < 8; ++i) {
    for (int64_t k = 0; k < 3; ++k) {
      mean += data.at(i * 6 + k) / 24;
    }
  }
  EXPECT_NEAR(norm.running_mean[0].item(), 0.1 * mean, 1e-6);
  norm.eval();
  const Tensor z = norm(tensor(data));
  EXPECT_EQ(norm.num_batches_tracked.item(), 1);
  EXPECT_NE(z.mean().item(), 0);
}

TEST(Modules, LayersComputeWhatTheBuildersDo) {
  const Array x = random({2, 6, 5, 5}, 1);
  const nn::GroupNorm group(3, 6);
  EXPECT_TRUE(close(group(tensor(x)).to_array(),
                    group_norm(tensor(x), Tensor::ones({6}), Tensor::zeros({6}), 3).to_array(), 1e-5, 1e-5));
  const nn::Conv2d conv(6, 4, {3, 3}, {.stride = {2}, .padding = {1}, .groups = 2});
  EXPECT_EQ(conv(tensor(x)).dims(), (std::vector<int64_t>{2, 4, 3, 3}));
  const nn::ConvTranspose up(6, 4, {2, 2}, {.stride = {2}});
  EXPECT_EQ(up(tensor(x)).dims(), (std::vector<int64_t>{2, 4, 10, 10}));
  const nn::Conv1d line(6, 4, {3});
  EXPECT_EQ(line(tensor(random({2, 6, 9}, 2))).dims(), (std::vector<int64_t>{2, 4, 7}));
  const nn::Conv3d cube(2, 4, {3}, {.padding = {1}});
  EXPECT_EQ(cube(tensor(random({1, 2, 4, 4, 4}, 2))).dims(), (std::vector<int64_t>{1, 4, 4, 4, 4}));
  const nn::RMSNorm rms({5});
  EXPECT_EQ(rms(tensor(x)).dims(), x.dims());
  const nn::LayerNorm layer({5, 5});
  EXPECT_NEAR(layer(tensor(x)).mean().item(), 0, 1e-5);
  const nn::Embedding words(10, 4);
  EXPECT_EQ(words(tensor(Array(Dtype::i64, {2, 3}))).dims(), (std::vector<int64_t>{2, 3, 4}));
}

TEST(Modules, DropoutIsForTraining) {
  nn::Dropout drop(0.5);
  const Tensor ones = Tensor::ones({1000});
  const double kept = drop(ones).gt(0).to(Dtype::f32).sum().item();
  EXPECT_NEAR(kept, 500, 100);
  EXPECT_NE(drop(ones).to_array().to_string(1000), drop(ones).to_array().to_string(1000)) << "each draw is new";
  drop.eval();
  EXPECT_EQ(drop(ones).sum().item(), 1000);
}

/// One layer of attention, written out.
TEST(Modules, AttentionIsSoftmaxOfScores) {
  const nn::MultiheadAttention attend(8, 2);
  const Tensor x = tensor(random({3, 5, 8}, 9));
  const Tensor whole = matmul(x, attend.in_proj_weight.t()) + attend.in_proj_bias;
  const auto part = [&](int64_t i) {
    return whole.slice_axis(2, i * 8, i * 8 + 8).reshape({3, 5, 2, 4}).transpose({0, 2, 1, 3});
  };
  const Tensor scores = matmul(part(0), part(1).t()) * 0.5;
  const Tensor seen = matmul(softmax(scores), part(2)).transpose({0, 2, 1, 3}).reshape({3, 5, 8});
  EXPECT_TRUE(close(attend(x).to_array(), attend.out_proj(seen).to_array(), 1e-4, 1e-5));
}

/// The recurrence with PyTorch's order of gates, by hand.
TEST(Modules, LstmIsItsRecurrence) {
  const nn::LSTM lstm(3, 2);
  const auto p = lstm.parameters();  // weight_ih, weight_hh, bias_ih, bias_hh
  const Tensor x = tensor(random({2, 4, 3}, 4));
  Tensor h = Tensor::zeros({2, 2});
  Tensor c = Tensor::zeros({2, 2});
  for (int64_t t = 0; t < 4; ++t) {
    const Tensor gates = matmul(x.select_at(t, 1), p[0].t()) + p[2] + matmul(h, p[1].t()) + p[3];
    const auto gate = [&](int64_t i) { return gates.slice_axis(1, i * 2, i * 2 + 2); };
    c = sigmoid(gate(1)) * c + sigmoid(gate(0)) * tanh(gate(2));
    h = sigmoid(gate(3)) * tanh(c);
  }
  const nn::LstmResult got = lstm(x);
  EXPECT_TRUE(close(got.h[0].to_array(), h.to_array(), 1e-4, 1e-5));
  EXPECT_TRUE(close(got.c[0].to_array(), c.to_array(), 1e-4, 1e-5));
  EXPECT_TRUE(close(got.outputs.select_at(3, 1).to_array(), h.to_array(), 1e-4, 1e-5));
  const nn::LSTM both(3, 2, 2, true);
  EXPECT_EQ(both(x).outputs.dims(), (std::vector<int64_t>{2, 4, 4}));
  EXPECT_EQ(both(x).h.dims(), (std::vector<int64_t>{4, 2, 2}));
}

TEST(Modules, GruIsItsRecurrence) {
  const nn::GRU gru(3, 2);
  const auto p = gru.parameters();  // weight_ih, weight_hh, bias_ih, bias_hh
  const Tensor x = tensor(random({2, 4, 3}, 4));
  Tensor h = tensor(random({2, 2}, 5));
  const nn::GruResult got = gru(x, h.unsqueeze(0));
  for (int64_t t = 0; t < 4; ++t) {
    const Tensor of_x = matmul(x.select_at(t, 1), p[0].t()) + p[2];
    const Tensor of_h = matmul(h, p[1].t()) + p[3];
    const auto gate = [](const Tensor& gates, int64_t i) { return gates.narrow(1, i * 2, 2); };
    const Tensor reset = sigmoid(gate(of_x, 0) + gate(of_h, 0));
    const Tensor update = sigmoid(gate(of_x, 1) + gate(of_h, 1));
    const Tensor made = tanh(gate(of_x, 2) + reset * gate(of_h, 2));
    h = (1 - update) * made + update * h;
  }
  EXPECT_TRUE(close(got.h[0].to_array(), h.to_array(), 1e-4, 1e-5));
  EXPECT_TRUE(close(got.outputs.select_at(3, 1).to_array(), h.to_array(), 1e-4, 1e-5));
  const nn::GRU both(3, 2, 2, true);
  EXPECT_EQ(both(x).outputs.dims(), (std::vector<int64_t>{2, 4, 4}));
  EXPECT_EQ(both(x).h.dims(), (std::vector<int64_t>{4, 2, 2}));
}

TEST(Modules, PoolsSlideAsPyTorchsDo) {
  const Tensor x = Tensor::arange(0, 16, 1, Dtype::f32).reshape({1, 1, 4, 4});
  const auto list = [](const Tensor& y) {
    const Array array = y.to_array();
    return std::vector<float>(array.values<float>().begin(), array.values<float>().end());
  };
  using Floats = std::vector<float>;
  EXPECT_EQ(list(nn::MaxPool2d({2})(x)), (Floats{5, 7, 13, 15}));
  EXPECT_EQ(list(nn::MaxPool2d({3}, {.stride = {2}, .padding = {1}})(x)), (Floats{5, 7, 13, 15}));
  EXPECT_EQ(list(nn::AvgPool2d({2})(x)), (Floats{2.5, 4.5, 10.5, 12.5}));
  EXPECT_EQ(list(nn::AvgPool2d({2}, {.padding = {1}})(x)), (Floats{0, 0.75, 0.75, 3, 7.5, 4.5, 3, 6.75, 3.75}));
  EXPECT_EQ(list(nn::AvgPool2d({2}, {.padding = {1}, .count_include_pad = false})(x)),
            (Floats{0, 1.5, 3, 6, 7.5, 9, 12, 13.5, 15}));
  EXPECT_EQ(list(nn::AdaptiveAvgPool({1, 1})(x)), Floats{7.5});
  EXPECT_EQ(nn::Flatten()(x).dims(), (std::vector<int64_t>{1, 16}));
  const nn::Sequential net(nn::Conv2d(1, 2, {3}, {.padding = {1}}), nn::MaxPool2d({2}), nn::Flatten());
  EXPECT_EQ(net(x).dims(), (std::vector<int64_t>{1, 8}));
  EXPECT_TRUE(mentions(error_text([] { nn::MaxPool2d({2, 2, 2}); }), {"MaxPool2d", "3 entries", "1 or 2"}));
  EXPECT_TRUE(mentions(error_text([] { nn::AvgPool1d({2}, {.dilation = {2}}); }), {"AvgPool1d", "dilation"}));
}

struct Files : testing::Test {
  std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("tenon_modules_" + std::to_string(reinterpret_cast<uintptr_t>(this)));
  void SetUp() override { std::filesystem::create_directories(folder); }
  void TearDown() override { std::filesystem::remove_all(folder); }
};
using ModuleFiles = Files;

TEST_F(ModuleFiles, StatesComeBack) {
  Net net;
  net.save(folder / "net.safetensors");
  Net other;
  const Tensor x = tensor(random({2, 4}, 1));
  EXPECT_FALSE(same_bits(net(x).to_array(), other(x).to_array()));
  other.load(folder / "net.safetensors");
  EXPECT_TRUE(same_bits(net(x).to_array(), other(x).to_array()));
  EXPECT_TRUE(other.hidden.weight.requires_grad());
}

TEST_F(ModuleFiles, AStateThatDoesNotFitChangesNothing) {
  Net net;
  const Array before = net.hidden.weight.to_array();
  SafeTensors state = net.state();
  for (auto& [name, array] : state.arrays) {
    array = name == "out.weight" ? Array(Dtype::f32, {3, 9}) : Array(Dtype::f32, array.dims());
  }
  EXPECT_EQ(error_text([&] { net.load_state(state); }),
            "`out.weight` is f32[3, 8] in the module, f32[3, 9] in the state");
  EXPECT_TRUE(same_bits(net.hidden.weight.to_array(), before));
  state.arrays.pop_back();
  EXPECT_TRUE(mentions(error_text([&] { net.load_state({}); }), {"hidden.weight", "has not"}));
  SafeTensors more = net.state();
  more.arrays.emplace_back("extra", Array());
  EXPECT_EQ(error_text([&] { net.load_state(more); }), "the state has `extra`, the module has not");
  net.load_state(more, /*strict=*/false);
}

TEST(Optim, IsTheGraphsTrainingStep) {
  manual_seed(5);
  const Net net;
  const nn::NamedTensors parameters = net.named_parameters();
  // The same loss as a graph.
  const Value x = input("x", shape(Dtype::f32, "batch", 4));
  const Value labels = input("labels", shape(Dtype::i64, "batch"));
  std::vector<Value> inputs{x, labels};
  std::vector<Array> state;
  std::vector<Value> p;
  for (const auto& [name, tensor] : parameters) {
    const Array array = tensor.to_array();
    p.push_back(input(name, Shape(Dtype::f32, {array.dims().begin(), array.dims().end()})));
    state.push_back(array);
  }
  inputs.insert(inputs.end(), p.begin(), p.end());
  const Value loss = cross_entropy(dense(relu(dense(x, transpose(p[0]), p[1])), transpose(p[2]), p[3]), labels);
  const Graph graph = training_step({inputs, {{"loss", loss}}}, sgd({.learning_rate = 0.1, .momentum = 0.9}),
                                    {.parameters = {"hidden.weight", "hidden.bias", "out.weight", "out.bias"}});
  const Executable step = compile(graph);
  std::vector<Array> given(graph.inputs().size());  // data, then weights and momenta, then the count
  for (size_t i = 2; i < given.size(); ++i) {
    const Shape& declared = graph.inputs()[i].shape();
    given[i] = Array(declared.dtype(), declared.dims());
    for (size_t k = 0; k < p.size(); ++k) {
      given[i] = graph.inputs()[i] == p[k] ? state[k] : given[i];
    }
  }
  optim::SGD optimizer(net.parameters(), {.learning_rate = 0.1, .momentum = 0.9});
  clear_realizations();
  for (int i = 0; i < 20; ++i) {
    const int64_t batch = 1 + (i * 7) % 11;
    const Array data = random({batch, 4}, static_cast<uint64_t>(i));
    Array target(Dtype::i64, {batch});
    for (int64_t k = 0; k < batch; ++k) {
      target.mutable_values<int64_t>()[static_cast<size_t>(k)] = (k + i) % 3;
    }
    given[0] = data;
    given[1] = target;
    const std::vector<Array> expected = step.run(given);
    const Tensor lazy = cross_entropy(net(tensor(data, {"batch", 4})), tensor(target, {"batch"}));
    lazy.backward();
    optimizer.step();
    optimizer.zero_grad();
    EXPECT_TRUE(same_bits(lazy.to_array(), expected[0])) << i;
    for (size_t k = 0; k < expected.size(); ++k) {
      if (const int updated = graph.outputs()[k].aliases; updated >= 0) {
        given[static_cast<size_t>(updated)] = expected[k];
      }
    }
  }
  EXPECT_EQ(realization_counts().compiles, 1);
  EXPECT_EQ(realization_counts().runs, 20);
}

TEST(Optim, RatesChangeWithoutNewPrograms) {
  clear_programs();
  Tensor w = tensor({4}).requires_grad_();
  optim::Adam adam({w});
  const optim::Schedule rate = optim::with_warmup(3, optim::cosine(0.5, 10));
  clear_realizations();
  for (int i = 0; i < 30; ++i) {
    adam.set_learning_rate(rate(i));
    adam.zero_grad();
    (w * w).sum().backward();
    adam.step();
    w.to_array();
  }
  EXPECT_EQ(realization_counts().compiles, 1);
  EXPECT_LT(std::abs(w.item()), 4);
  EXPECT_NEAR(rate(0), 0.5 * (1 + std::cos(0)) / 2 / 3, 1e-12);
  EXPECT_NEAR(rate(10), 0, 1e-12);
  EXPECT_EQ(optim::step_decay(1, 2, 0.5)(5), 0.25);
}

TEST(Optim, StatesComeBack) {
  const auto train = [](optim::AdamW& optimizer, const Tensor& w, int steps) {
    for (int i = 0; i < steps; ++i) {
      optimizer.zero_grad();
      (w * w).sum().backward();
      optimizer.step();
    }
    return w.to_array();
  };
  Tensor w = tensor({4, -3}).requires_grad_();
  optim::AdamW first({w}, {.learning_rate = 0.1});
  train(first, w, 3);
  Tensor copy = tensor(w.to_array()).requires_grad_();
  optim::AdamW second({copy}, {.learning_rate = 0.1});
  second.load_state(first.state());
  EXPECT_EQ(second.steps(), 3);
  EXPECT_TRUE(same_bits(train(first, w, 3), train(second, copy, 3)));
  SafeTensors broken = first.state();
  broken.arrays[0].second = Array(Dtype::f32, {3});
  EXPECT_TRUE(mentions(error_text([&] { second.load_state(broken); }), {"0.mean", "f32[2]", "f32[3]"}));
}

TEST(Optim, ClipsByNorm) {
  Tensor w = tensor({3, 4}).requires_grad_();
  (w * w).sum().backward();
  EXPECT_EQ(optim::clip_grad_norm({w}, 1).item(), 10);
  EXPECT_NEAR(w.grad()[1].item(), 0.8, 1e-5);
  optim::clip_grad_value({w}, 0.7);
  EXPECT_NEAR(w.grad()[1].item(), 0.7, 1e-6);
  EXPECT_TRUE(mentions(error_text([] { optim::clip_grad_norm({tensor({1})}, 1); }), {"no parameter has a gradient"}));
}

struct Tied : nn::Module {
  nn::Linear first = child("first", nn::Linear(2, 2, false));
  nn::Linear second = child("second", first);
  Tensor operator()(const Tensor& x) const { return second(first(x)); }
};

TEST(Modules, SharedWeightsAreOneParameter) {
  const Tied tied;
  EXPECT_EQ(tied.parameters().size(), 1);
  EXPECT_EQ(tied.parameter_count(), 4);
  EXPECT_EQ(tied.state().arrays.size(), 2) << "under both names";
  {
    const NoGrad none;
    Tensor weight = tied.first.weight;
    weight.copy_(Tensor::eye(2, 2));
  }
  optim::SGD optimizer(tied.parameters(), {.learning_rate = 0.1});
  tied(Tensor::ones({1, 2})).sum().backward();
  optimizer.step();
  EXPECT_NEAR(tied.first.weight.to_array().at(0), 0.8, 1e-6);
  EXPECT_TRUE(mentions(error_text([&] { optim::SGD({tied.first.weight, tied.second.weight}); }), {"twice"}));
}

TEST(Optim, CountsTheStepsOfEachParameter) {
  Tensor w = tensor({1}).requires_grad_();
  Tensor late = tensor({5}).requires_grad_();
  optim::Adam optimizer({w, late}, {.learning_rate = 0.1});
  for (int i = 0; i < 5; ++i) {
    Tensor loss = (w * w).sum();
    if (i >= 2) {
      loss = loss + (late * late).sum();
    }
    loss.backward();
    optimizer.step();
    optimizer.zero_grad();
  }
  EXPECT_NEAR(late.item(), 4.70021, 1e-4) << "as if its first step were the first";
  optim::SGD other({w, late});
  EXPECT_TRUE(mentions(error_text([&] { other.load_state(optimizer.state()); }), {"adam", "sgd"}));
}

}  // namespace
}  // namespace tenon::modules_test
