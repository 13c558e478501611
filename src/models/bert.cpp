// The BERT encoder: attention and feed-forward parts, each followed by a norm.
#include "models/layers.h"

namespace tenon {
namespace {

using Scope = ModelBuilder::Scope;

/// Words, positions and segments, summed and normalised.
Value embed(ModelBuilder& model, const BertOptions& options) {
  const Value tokens = model.data("tokens", shape(i64, "batch", "seq"));
  const Value segments = model.data("segments", shape(i64, "batch", "seq"));
  const Scope scope(model, "embeddings");
  const auto table = [&](const char* name, int64_t rows) {
    return model.parameter(name, {rows, options.width}, Init::random, 0.02);
  };
  const Value words = take(table("words", options.vocabulary), tokens);
  const Value positions = slice(table("positions", options.positions), {0, 0}, {tokens.extent(1), options.width});
  const Value kinds = take(table("segments", 2), segments);
  return layer_norm_layer(model, words + positions + kinds, 1e-12);
}

}  // namespace

Model bert(const BertOptions& options) {
  require_option("bert", "heads", options.heads > 0 && options.width % options.heads == 0, "divide the width");
  ModelBuilder model("bert");
  Value x = options.vocabulary > 0 ? embed(model, options) : model.data("x", shape(f32, "batch", "seq", options.width));
  const Value mask = reshape(model.data("mask", shape(boolean, "batch", "seq")), {"batch", 1, 1, "seq"});
  for (int i = 0; i < options.layers; ++i) {
    const Scope layer(model, "layers", i);
    const Value mixed = within(model, "attention", [&] { return self_attention(model, x, options.heads, mask); });
    x = within(model, "attention_norm", [&] { return layer_norm_layer(model, x + mixed, 1e-12); });
    const Value fed = within(model, "feed_forward", [&] { return feed_forward(model, x, options.hidden); });
    x = within(model, "output_norm", [&] { return layer_norm_layer(model, x + fed, 1e-12); });
  }
  return model.finish({{"hidden", x}});
}

}  // namespace tenon
