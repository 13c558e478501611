// Modules as graphs with named inputs and weights.
#include "tenon/traced.h"

#include <gtest/gtest.h>

#include <random>

#include "support/arrays.h"
#include "support/error_text.h"
#include "tenon/compile.h"
#include "tenon/interpreter.h"
#include "tenon/modules.h"
#include "tenon/optim.h"

namespace tenon::traced_test {
namespace {

struct Net : nn::Module {
  nn::Linear hidden = child("hidden", nn::Linear(4, 8));
  nn::BatchNorm norm = child("norm", nn::BatchNorm(8));
  nn::Dropout drop = child("drop", nn::Dropout(0.5));
  nn::Linear out = child("out", nn::Linear(8, 3));
  Tensor operator()(const Tensor& x) const { return out(drop(relu(norm(hidden(x))))); }
};

Array some(std::vector<int64_t> dims, uint64_t seed) {
  std::mt19937_64 rng(seed);
  return random_array(Dtype::f32, std::move(dims), rng, -1, 1);
}

std::vector<std::string> input_names(const Graph& graph) {
  std::vector<std::string> names;
  for (const Value& in : graph.inputs()) {
    names.emplace_back(in.name());
  }
  return names;
}

TEST(Traced, AModuleIsAGraphWithNamedWeights) {
  Net net;
  const TracedModel traced = trace(net, {{"x", tensor(some({2, 4}, 1), {"batch", 4})}});
  EXPECT_EQ(input_names(traced.graph),
            (std::vector<std::string>{"x", "hidden.weight", "hidden.bias", "norm.weight", "norm.bias", "out.weight",
                                      "out.bias", "norm.running_mean", "norm.running_var"}));
  EXPECT_EQ(traced.graph.input("x").shape().to_string(), "f32[batch, 4]");
  EXPECT_EQ(traced.graph.input("out.bias").shape().to_string(), "f32[3]");
  EXPECT_EQ(traced.graph.output("output").shape().to_string(), "f32[batch, 3]");
  EXPECT_EQ(traced.weights.size(), 8U);
  EXPECT_TRUE(mentions(error_text([&] { traced.graph.input("y"); }), {"`y`", "x", "hidden.weight"}));
  EXPECT_TRUE(net.is_training()) << "as it was";
  net.eval();
  const Array data = some({5, 4}, 2);
  const Array wanted = net(tensor(data)).to_array();
  EXPECT_TRUE(close(interpret(traced.with_weights(), {data})[0], wanted, 1e-5, 1e-6)) << "at another size";
  EXPECT_TRUE(close(compile(traced.with_weights()).run({data})[0], wanted, 1e-5, 1e-6));
}

TEST(Traced, HasTheWeightsThatTrainingMade) {
  Net net;
  optim::SGD optimizer(net.parameters(), {.learning_rate = 0.1});
  net(tensor(some({3, 4}, 3))).square().sum().backward();
  optimizer.step();  // pending
  const TracedModel traced = trace(net, {{"x", tensor(some({2, 4}, 1), {"batch", 4})}});
  net.eval();
  const Array data = some({2, 4}, 4);
  EXPECT_TRUE(close(interpret(traced.with_weights(), {data})[0], net(tensor(data)).to_array(), 1e-5, 1e-6));
}

struct Two : nn::Module {
  nn::Linear layer = child("layer", nn::Linear(4, 4));
  std::vector<Tensor> operator()(const Tensor& a, const Tensor& b) const {
    return {layer(a) + b, a.slice_axis(0, 0, 1) * 2 + tensor({1, 2, 3, 4})};
  }
};

TEST(Traced, TakesSeveralInputsAndGivesSeveralOutputs) {
  const Two net;
  const Tensor a = tensor(some({2, 4}, 1), {"batch", 4});
  const Tensor b = tensor(some({2, 4}, 2), {"batch", 4});
  const TracedModel traced = trace(net, {{"a", a}, {"b", b}}, {.outputs = {"sum", "first"}});
  EXPECT_EQ(traced.graph.outputs()[1].name, "first");
  const std::vector<Array> got = interpret(traced.with_weights(), {a.to_array(), b.to_array()});
  const std::vector<Tensor> wanted = net(a, b);
  EXPECT_TRUE(close(got[0], wanted[0].to_array(), 1e-5, 1e-6));
  EXPECT_TRUE(close(got[1], wanted[1].to_array(), 1e-5, 1e-6)) << "a tensor that is no weight is a constant";
  EXPECT_EQ(error_text([&] { trace(net, {{"a", a}}); }), "trace: the module cannot be called with 1 tensors");
  EXPECT_TRUE(mentions(error_text([&] { trace(net, {{"a", a}, {"b", b}}, {.outputs = {"sum"}}); }), {"1 names", "2"}));
}

}  // namespace
}  // namespace tenon::traced_test
