// The rows of the kernel-count table with products, convolutions and attention.
#include <string>
#include <vector>

#include "support/count_graphs.h"
#include "tenon/tenon.h"

namespace bench {

using namespace tenon;  // NOLINT: the graphs read like the documentation

namespace {

constexpr int64_t kWidth = 64;
constexpr int64_t kHidden = 256;
constexpr int64_t kHeads = 4;

/// A graph whose inputs are listed as they are made.
class Maker {
 public:
  template <class... Axes>
  Value in(const std::string& name, const Axes&... axes) {
    inputs_.push_back(input(name, shape(f32, axes...)));
    return inputs_.back();
  }

  Graph graph(const std::vector<Value>& values) {
    std::vector<Output> outputs;
    for (size_t i = 0; i < values.size(); ++i) {
      outputs.push_back({.name = "y" + std::to_string(i), .value = values[i]});
    }
    return {inputs_, std::move(outputs)};
  }

 private:
  std::vector<Value> inputs_;
};

Value hidden(Maker& m, const std::string& name = "x") { return m.in(name, "batch", "seq", kWidth); }

Graph dense_gelu() {
  Maker m;
  const Value x = hidden(m);
  const Value y = dense(x, m.in("w", kWidth, kWidth), m.in("b", kWidth), "gelu");
  return m.graph({y + hidden(m, "residual")});
}

Graph ffn() {
  Maker m;
  const Value x = hidden(m);
  const Value h = dense(x, m.in("w1", kWidth, kHidden), m.in("b1", kHidden), "gelu");
  return m.graph({x + dense(h, m.in("w2", kHidden, kWidth), m.in("b2", kWidth))});
}

Graph swiglu_graph() {
  Maker m;
  const Value x = hidden(m);
  const Value gate = m.in("gate", kWidth, kHidden);
  const Value up = m.in("up", kWidth, kHidden);
  return m.graph({x + swiglu(x, gate, up, m.in("down", kHidden, kWidth))});
}

Graph matmul_sum() {
  Maker m;
  const Value a = m.in("a", "row", "k");
  const Value b = m.in("b", "k", "col");
  const Value c = m.in("c", "row", "l");
  return m.graph({matmul(a, b) + matmul(c, m.in("d", "l", "col"))});
}

struct NormInputs {
  Value scale, bias, mean, variance;
};

NormInputs norm_inputs(Maker& m, const std::string& suffix) {
  return {m.in("scale" + suffix, kWidth), m.in("bias" + suffix, kWidth), m.in("mean" + suffix, kWidth),
          m.in("variance" + suffix, kWidth)};
}

Value conv3(Maker& m, const Value& x, const std::string& suffix) {
  return conv(x, m.in("w" + suffix, kWidth, x.extent(1), 3, 3), {.low = {1, 1}, .high = {1, 1}});
}

Value image(Maker& m) { return m.in("x", "batch", kWidth, "height", "width"); }

/// Convolution and batch norm; in training, running statistics are added to `state`.
Value conv_bn(Maker& m, const Value& x, const std::string& suffix, std::vector<Value>* state) {
  const Value y = conv3(m, x, suffix);
  const NormInputs n = norm_inputs(m, suffix);
  if (!state) {
    return batch_norm(y, n.scale, n.bias, n.mean, n.variance);
  }
  const BatchNorm norm = batch_norm_training(y, n.scale, n.bias, n.mean, n.variance);
  state->push_back(norm.running_mean);
  state->push_back(norm.running_variance);
  return norm.y;
}

Graph conv_bn_relu(bool training) {
  Maker m;
  std::vector<Value> state;
  const Value y = relu(conv_bn(m, image(m), "", training ? &state : nullptr));
  state.insert(state.begin(), y);
  return m.graph(state);
}

Graph residual_block(bool training) {
  Maker m;
  std::vector<Value> state;
  const Value x = image(m);
  const Value h = relu(conv_bn(m, x, "1", training ? &state : nullptr));
  const Value y = relu(conv_bn(m, h, "2", training ? &state : nullptr) + x);
  state.insert(state.begin(), y);
  return m.graph(state);
}

Graph squeeze_excite() {
  Maker m;
  const Value x = image(m);
  const Value squeezed = reduce_mean(x, {2, 3});
  const Value h = dense(squeezed, m.in("w1", kWidth, 16), m.in("b1", 16), "relu");
  const Value gate = dense(h, m.in("w2", 16, kWidth), m.in("b2", kWidth), "sigmoid");
  return m.graph({x * reshape(gate, {"batch", kWidth, 1, 1})});
}

Graph depthwise_pointwise() {
  Maker m;
  const Value x = image(m);
  const Value h = relu(conv(x, m.in("w1", kWidth, 1, 3, 3), {.low = {1, 1}, .high = {1, 1}, .groups = kWidth}));
  return m.graph({relu(conv(h, m.in("w2", kHidden, kWidth, 1, 1)))});
}

struct Heads {
  Value q, k, v;
};

Heads heads(Maker& m) {
  const auto head = [&](const std::string& name, const std::string& length) {
    return m.in(name, "batch", kHeads, length, 32);
  };
  return {head("q", "query"), head("k", "key"), head("v", "key")};
}

Graph attention_graph(bool causal, bool mask) {
  Maker m;
  const auto [q, k, v] = heads(m);
  AttentionOptions options{.causal = causal};
  if (mask) {
    options.mask = m.in("mask", "batch", 1, "query", "key");
  }
  return m.graph({attention(q, k, v, options)});
}

HeadWeights head_weights(Maker& m) {
  HeadWeights weights;
  for (const char* name : {"q", "k", "v"}) {
    weights.w.push_back(m.in(std::string("w") + name, kWidth, kWidth));
    weights.bias.push_back(m.in(std::string("b") + name, kWidth));
  }
  weights.w_out = m.in("wo", kWidth, kWidth);
  weights.bias_out = m.in("bo", kWidth);
  return weights;
}

Graph qkv_attention_out() {
  Maker m;
  const Value x = hidden(m);
  return m.graph({multi_head_attention(x, head_weights(m), kHeads)});
}

Graph attention_backward() {
  return differentiate(attention_graph(false, false), {.keep_outputs = false, .seed_input = true});
}

Graph transformer_block() {
  Maker m;
  const Value x = hidden(m);
  const Value normed = layer_norm(x, m.in("s1", kWidth), m.in("n1", kWidth));
  const Value y = x + multi_head_attention(normed, head_weights(m), kHeads);
  const Value again = layer_norm(y, m.in("s2", kWidth), m.in("n2", kWidth));
  const Value h = dense(again, m.in("w1", kWidth, kHidden), m.in("b1", kHidden), "gelu");
  return m.graph({y + dense(h, m.in("w2", kHidden, kWidth), m.in("b2", kWidth))});
}

Graph reused_conv(bool gradients) {
  Maker m;
  const Value x = image(m);
  const Value w = m.in("w", kWidth, kWidth, 3, 3);
  const Value b = m.in("b", kWidth);
  const auto layer = [&](const Value& v) {
    return conv(v, w, {.low = {1, 1}, .high = {1, 1}}) + reshape(b, {kWidth, 1, 1});
  };
  const Graph forward = m.graph({layer(relu(layer(x)))});
  return gradients ? differentiate(forward, {.keep_outputs = true, .seed_input = true}) : forward;
}

Graph lstm_cell_graph() {
  Maker m;
  const Value x = m.in("x", "batch", kWidth);
  const Value h = m.in("h", "batch", kWidth);
  const Value c = m.in("c", "batch", kWidth);
  const Value w = m.in("w", kWidth, 4 * kWidth);
  const Value r = m.in("r", kWidth, 4 * kWidth);
  const Value gates = matmul(x, w) + matmul(h, r) + m.in("bias", 4 * kWidth);
  const auto gate = [&](int64_t i) { return slice_axis(gates, 1, i * kWidth, (i + 1) * kWidth); };
  const Value next = sigmoid(gate(1)) * c + sigmoid(gate(0)) * tanh(gate(2));
  return m.graph({sigmoid(gate(3)) * tanh(next), next});
}

}  // namespace

std::vector<CountGraph> product_graphs() {
  return {
      {"dense_gelu", dense_gelu()},
      {"ffn", ffn(), 0},
      {"swiglu", swiglu_graph(), 0},
      {"matmul_sum", matmul_sum()},
      {"conv_bn_relu_eval", conv_bn_relu(false)},
      {"conv_bn_relu_train", conv_bn_relu(true), 0},
      {"residual_block_eval", residual_block(false), 0},
      {"residual_block_train", residual_block(true), 0},
      {"squeeze_excite", squeeze_excite(), 0},
      {"depthwise_pointwise", depthwise_pointwise(), 0},
      {"attention", attention_graph(false, false)},
      {"attention_causal", attention_graph(true, false)},
      {"attention_mask", attention_graph(false, true)},
      {"qkv_attention_out", qkv_attention_out(), 0},
      {"attention_backward", attention_backward(), 0},
      {"transformer_block", transformer_block(), 0},
      {"reused_conv", reused_conv(false), 0},
      {"reused_conv_both", reused_conv(true), 0},
      {"lstm_cell", lstm_cell_graph(), 0},
  };
}

std::vector<CountGraph> model_graphs() {
  return {
      {"resnet18_eval", with_weights(resnet()), 0},
      {"resnet50_eval", with_weights(resnet({.blocks = {3, 4, 6, 3}, .bottleneck = true})), 0},
      {"bert_base_eval", with_weights(bert({.vocabulary = 0})), 0},
  };
}

}  // namespace bench
