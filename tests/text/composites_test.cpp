// Composites, losses, recurrent layers and einsum are builders of the graph text too.
#include <gtest/gtest.h>

#include "support/error_text.h"
#include "tenon/einsum.h"
#include "tenon/losses.h"
#include "tenon/nn.h"
#include "tenon/recurrent.h"
#include "tenon/text.h"

namespace tenon::composites_test {
namespace {

Value in(const char* name, const char* text) { return input(name, Shape::parse(text)); }

TEST(CompositesInText, AreWhatTheBuildersGive) {
  const Graph read = parse_graph(R"(
    graph block(x: f32[batch, seq, 8], w: f32[8, 24], b: f32[24], up: f32[8, 4], labels: i32[batch, seq]) {
      q, k, v = qkv_dense(layer_norm(x), w, b, heads=2)
      y = attention(rotary(q), rotary(k), v, causal=true)
      z = dense(einsum(y, equation="bhsd->bsd"), einsum(up, equation="ij->ji"), activation=gelu)
      loss = cross_entropy(z, labels, ignore_index=-1, label_smoothing=0.1)
      return loss=loss, soft=softmax(x, axis=1)
    })");
  const Value x = in("x", "f32[batch, seq, 8]");
  const Value w = in("w", "f32[8, 24]");
  const Value b = in("b", "f32[24]");
  const Value up = in("up", "f32[8, 4]");
  const Value labels = in("labels", "i32[batch, seq]");
  const Qkv qkv = qkv_dense(layer_norm(x), {w}, {b}, 2);
  const Value y = attention(rotary(qkv.q), rotary(qkv.k), qkv.v, {.causal = true});
  const Value z = dense(einsum("bhsd->bsd", {y}), einsum("ij->ji", {up}), {}, "gelu");
  const Value loss = cross_entropy(z, labels, {.ignore_index = -1, .label_smoothing = 0.1});
  const Graph built("block", {x, w, b, up, labels}, {{"loss", loss}, {"soft", softmax(x, 1)}});
  EXPECT_EQ(read, built) << to_text(read) << to_text(built);
  EXPECT_EQ(parse_graph(to_text(built)), built);
}

TEST(CompositesInText, SeveralResults) {
  const Graph read = parse_graph(R"(
    graph rnn(x: f32[seq, batch, 3], w: f32[8, 3], r: f32[8, 2]) {
      y, h, c = lstm(x, w, r, reverse=true)
      return y=y, h=h, c=c
    })");
  const Value x = in("x", "f32[seq, batch, 3]");
  const Value w = in("w", "f32[8, 3]");
  const Value r = in("r", "f32[8, 2]");
  const RecurrentResult result = lstm(x, {w, r}, {.reverse = true});
  EXPECT_EQ(read, Graph("rnn", {x, w, r}, {{"y", result.outputs}, {"h", result.last.h}, {"c", result.last.c}}));
  EXPECT_NE(error_text([] {
              parse_graph("graph g(x: f32[n], t: f32[n]) {\n return y=mse_loss(x, t, reduction=average)\n}");
            }).find("reduction `average` is none of none, mean, sum"),
            std::string::npos);
}

}  // namespace
}  // namespace tenon::composites_test
