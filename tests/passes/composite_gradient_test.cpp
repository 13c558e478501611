// Gradients through the bodies of composites: against differences, and finite where values are extreme.
#include <gtest/gtest.h>

#include <cmath>

#include "support/arrays.h"
#include "support/finite_difference.h"
#include "tenon/autodiff.h"
#include "tenon/einsum.h"
#include "tenon/interpreter.h"
#include "tenon/losses.h"
#include "tenon/nn.h"
#include "tenon/recurrent.h"

namespace tenon::passes::composite_gradient_test {
namespace {

Value in(const char* name, const char* text) { return input(name, Shape::parse(text)); }

struct Case {
  const char* name;
  Graph graph;
  Bindings bindings = {};
  double low = -2;
  double high = 2;
};

Case recurrent_case(const char* name, int64_t gates, RecurrentResult (*build)(const Value&, const RecurrentWeights&)) {
  const Value x = in("x", "f64[seq, batch, 3]");
  const Value w = input("w", shape(f64, gates * 2, 3));
  const Value r = input("r", shape(f64, gates * 2, 2));
  const Value b = input("b", shape(f64, gates * 4));
  const RecurrentResult result = build(x, {w, r, b});
  return {name, Graph({x, w, r, b}, {{"y", result.outputs}, {"h", result.last.h}}), {{"seq", 3}, {"batch", 2}}, -1, 1};
}

std::vector<Case> cases() {
  const Value x = in("x", "f64[n, 4]");
  const Value y = in("y", "f64[n, 4]");
  const Value s = in("s", "f64[4]");
  const Value b = in("b", "f64[4]");
  const Value c = in("c", "f64[n, 4, m]");
  const Value labels = in("labels", "i32[n]");
  const Value q = in("q", "f64[n, 4, m, 2]");
  const Value k = in("k", "f64[n, 2, 5, 2]");
  const Value v = in("v", "f64[n, 2, 5, 3]");
  const Value w = in("w", "f64[4, 3]");
  const Value w2 = in("w2", "f64[4, 3]");
  const Value w3 = in("w3", "f64[3, 2]");
  const Value fused = in("fused", "f64[4, 12]");
  const Bindings n{{"n", 2}, {"m", 3}};
  const Qkv qkv = qkv_dense(x, {fused}, {}, 2);
  const BatchNorm trained = batch_norm_training(c, s, b, s, b);
  return {
      {"softmax", Graph({x}, {{"y", softmax(x)}, {"l", log_softmax(x, 0)}}), n},
      {"logsumexp", Graph({x}, {{"y", logsumexp(x, {1})}}), n},
      {"norms", Graph({x}, {{"a", reduce_l1(x, {1})}, {"b", reduce_l2(x, {1})}, {"c", reduce_sum_square(x)}}), n},
      {"variance", Graph({x}, {{"a", variance(x, {1}, false, 1)}, {"b", standard_deviation(x, {1}, false, 0)}}), n},
      {"layer_norm", Graph({x, s, b}, {{"y", layer_norm(x, s, b)}}), n},
      {"rms_norm", Graph({x, s}, {{"y", rms_norm(x, s)}}), n},
      {"group_norm", Graph({c, s, b}, {{"y", group_norm(c, s, b, 2)}}), n},
      {"instance_norm", Graph({c, s, b}, {{"y", instance_norm(c, s, b)}}), n},
      {"batch_norm_training", Graph({c, s, b}, {{"y", trained.y}, {"v", trained.running_variance}}), n},
      {"dense", Graph({x, w}, {{"y", dense(x, w, {}, "gelu")}}), n},
      {"swiglu", Graph({x, w, w2, w3}, {{"y", swiglu(x, w, w2, w3)}}), n},
      {"qkv_dense", Graph({x, fused}, {{"q", qkv.q}, {"k", qkv.k}, {"v", qkv.v}}), n},
      {"attention", Graph({q, k, v}, {{"y", attention(q, k, v, {.causal = true})}}), n},
      {"rotary", Graph({x}, {{"y", rotary(x)}, {"z", rotary(x, {.interleaved = true, .offset = 3})}}), n},
      {"cross_entropy",
       Graph({x, labels}, {{"y", cross_entropy(x, labels, {.ignore_index = 1, .label_smoothing = 0.2})}}), n},
      {"mse", Graph({x, y}, {{"y", mse_loss(x, y)}}), n},
      {"huber", Graph({x, y}, {{"y", huber_loss(x, y, 0.7)}, {"z", smooth_l1_loss(x, y, 0.4)}}), n},
      {"logistic", Graph({x, y}, {{"y", binary_cross_entropy_with_logits(x, y)}}), n},
      {"probabilities", Graph({x, y}, {{"y", binary_cross_entropy(x, y)}, {"z", kl_divergence(x, y)}}), n, 0.1, 0.9},
      {"einsum", Graph({x, y, w}, {{"y", einsum("ni,nj,ik,jk->nk", {x, y, w, w})}}), n},
      recurrent_case("rnn", 1, [](const Value& a, const RecurrentWeights& p) { return rnn(a, p); }),
      recurrent_case("lstm", 4,
                     [](const Value& a, const RecurrentWeights& p) { return lstm(a, p, {.reverse = true}); }),
      recurrent_case("gru", 3, [](const Value& a, const RecurrentWeights& p) { return gru(a, p); }),
      recurrent_case(
          "gru_linear", 3,
          [](const Value& a, const RecurrentWeights& p) { return gru(a, p, {.linear_before_reset = true}); }),
  };
}

TEST(CompositeGradients, MatchDifferences) {
  uint64_t seed = 1;
  for (const Case& c : cases()) {
    EXPECT_TRUE(
        gradients_match(c.graph, spaced_inputs(c.graph, c.bindings, seed++, c.low, c.high), {.bindings = c.bindings}))
        << c.name;
  }
}

TEST(CompositeGradients, AreFiniteForExtremeValues) {
  const auto finite = [](const Graph& graph, const std::vector<Array>& inputs, const char* name) {
    for (const Array& gradient : interpret(differentiate(graph), inputs)) {
      for (int64_t i = 0; i < gradient.size(); ++i) {
        EXPECT_TRUE(std::isfinite(gradient.at(i))) << name << " " << gradient.to_string();
      }
    }
  };
  const Value x = in("x", "f32[n, 2]");
  const Value t = in("t", "f32[n, 2]");
  const Value labels = in("labels", "i32[n]");
  const Array large = Array::from<float>({3, 2}, {1e4, -1e4, -1e4, -1e4, 0, 1e4});
  const Array zeros(f32, {3, 2});
  finite(Graph({x, labels}, {{"y", cross_entropy(x, labels)}}), {large, Array::from<int32_t>({3}, {1, 0, 0})},
         "cross_entropy");
  finite(Graph({x, t}, {{"y", reduce_sum(softmax(x) * t)}}), {large, large}, "softmax");
  finite(Graph({x, t}, {{"y", binary_cross_entropy_with_logits(x, t)}}), {large, zeros}, "logistic");
  finite(Graph({x, t}, {{"y", kl_divergence(x, t)}}), {large, zeros}, "kl_divergence");
  finite(Graph({x}, {{"y", reduce_sum(layer_norm(x))}}), {zeros}, "layer_norm");

  // Batch 0 sees no key.
  const Value q = in("q", "f32[2, 1, n, 2]");
  const Value mask = in("mask", "bool[2, 1, 1, n]");
  finite(Graph({q, mask}, {{"y", reduce_sum(attention(q, q, q, {.mask = mask}))}}),
         {Array::full(f32, {2, 1, 2, 2}, 100), Array::from<bool>({2, 1, 1, 2}, {false, false, true, false})},
         "attention");
}

}  // namespace
}  // namespace tenon::passes::composite_gradient_test
