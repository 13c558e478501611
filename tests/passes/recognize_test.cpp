// Composites that were written out become what their builders make.
#include "ir/walk.h"
#include "passes/fold_constants.h"
#include "passes/fold_views.h"
#include "passes/inline_calls.h"
#include "passes/recognize/recognize_composites.h"
#include "passes/simplify.h"
#include "support/equivalence.h"
#include "tenon/nn.h"
#include "tenon/text.h"

namespace tenon::passes::recognize_test {
namespace {

std::string text(const Graph& graph) { return to_text(graph, {.places = false}); }

/// The names of the composites that `graph` calls itself, in order.
std::vector<std::string> composites_of(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node* node : graph.nodes()) {
    if (const auto* call = node->as<Call>()) {
      names.push_back(call->body.name());
    }
  }
  return names;
}

Value in(const char* name, const char* type) { return input(name, Shape::parse(type)); }

std::vector<Graph> built_composites() {
  const Value x = in("x", "f32[batch, seq, 8]");
  const Value scale = in("scale", "f32[8]");
  const Value bias = in("bias", "f32[8]");
  const Value w = in("w", "f32[8, 16]");
  const Value out_bias = in("out_bias", "f32[16]");
  const std::vector<Value> inputs{x, scale, bias, w, out_bias};
  std::vector<Graph> graphs;
  for (const Value& y :
       {softmax(x), softmax(x, 0), log_softmax(x, 1), layer_norm(x), layer_norm(x, scale), layer_norm(x, scale, bias),
        layer_norm(x, {}, bias, {-1}, 0.5), layer_norm(x, {}, {}, {1, 2}), rms_norm(x), rms_norm(x, scale),
        dense(x, w, out_bias), dense(x, w, out_bias, "gelu"), dense(x, w, {}, "silu")}) {
    graphs.emplace_back(inputs, std::vector<Output>{{"y", y}});
  }
  return graphs;
}

TEST(Recognize, FindsWhatEveryBuilderMakes) {
  for (const Graph& graph : built_composites()) {
    EXPECT_EQ(text(recognize_composites(inline_calls(graph))), text(graph));
  }
}

TEST(Recognize, FindsItAfterOtherPassesHaveBeenThere) {
  for (const Graph& graph : built_composites()) {
    const Graph found = recognize_composites(fold_views(simplify(fold_constants(inline_calls(graph)))));
    EXPECT_EQ(text(found), text(graph));
  }
}

struct Block {
  Value x, other, mask;
  std::vector<Value> w, b;
  std::vector<Value> inputs;

  Block()
      : x(in("x", "f32[batch, seq, 8]")), other(in("other", "f32[batch, seq, 8]")), mask(in("mask", "f32[seq, seq]")) {
    inputs = {x, other, mask};
    for (const char* name : {"q", "k", "v"}) {
      w.push_back(in((std::string("w_") + name).c_str(), "f32[8, 8]"));
      b.push_back(in((std::string("b_") + name).c_str(), "f32[8]"));
      inputs.push_back(w.back());
      inputs.push_back(b.back());
    }
  }

  Value heads(const Value& from, size_t i, const Axes& order, bool biased = true) const {
    const Value product = matmul(from, w[i]);
    return transpose(reshape(biased ? product + b[i] : product, {"batch", "seq", 2, 4}), order);
  }

  /// As exporters write it, with the keys turned at once.
  Graph attention_of(const Value& keys, bool biased = true) const {
    const Value q = heads(x, 0, {0, 2, 1, 3}, biased);
    const Value k = heads(keys, 1, {0, 2, 3, 1}, biased);
    const Value v = heads(x, 2, {0, 2, 1, 3}, biased);
    return {inputs, {{"y", matmul(softmax(matmul(q, k) / 2.0 + mask), v)}}};
  }
};

TEST(Recognize, ThreeProjectionsOfOneValueAreQkvDense) {
  const Block block;
  for (const bool biased : {true, false}) {
    const Graph written = block.attention_of(block.x, biased);
    const Graph found = recognize_composites(written);
    const Qkv qkv = qkv_dense(block.x, block.w, biased ? block.b : std::vector<Value>{}, 2);
    const Graph expected(block.inputs, {{"y", attention(qkv.q, qkv.k, qkv.v, {.mask = block.mask, .zeros = false})}});
    EXPECT_EQ(text(found), text(expected));
    EXPECT_TRUE(equivalent(written, found));
  }
}

TEST(Recognize, KeysOfAnotherValueAreNot) {
  const Block block;
  const Graph written = block.attention_of(block.other);
  const Graph found = recognize_composites(written);
  EXPECT_EQ(composites_of(found), (std::vector<std::string>{"dense", "dense", "dense", "attention"}));
  EXPECT_TRUE(equivalent(written, found));
}

TEST(Recognize, HalfTypesStayBecauseEveryStepRounds) {
  const Value x = in("x", "f16[n, 8]");
  const Value centred = x - reduce_mean(x, {1}, true);
  const Value y = centred / sqrt(reduce_mean(square(centred), {1}, true) + 0.125);
  const Graph written({x}, {{"y", y}});
  EXPECT_EQ(text(recognize_composites(written)), text(written));
}

}  // namespace
}  // namespace tenon::passes::recognize_test
