// A GPT-2 style decoder. The caches of keys and values are state: new entries are written in place at `past`.
#include "models/layers.h"
#include "tenon/nn.h"

namespace tenon {
namespace {

using Scope = ModelBuilder::Scope;

struct Cache {
  Value keys, values;  // [layers, batch, heads, total, depth]
};

struct Sizes {
  Axis batch, seq;
  Extent past;
  int64_t heads, depth;
};

/// Write x[batch, heads, seq, depth] behind the past of one layer's cache, and give all that is there now.
Value append(Value& cache, int layer, const Value& x, const Sizes& s) {
  const std::vector<Axis> one{1, s.batch, s.heads, s.seq, s.depth};
  cache = update_slice(cache, reshape(x, one), {layer, 0, 0, s.past, 0});
  const Extent length = s.past + s.seq.extent();
  const Value seen = slice(cache, {layer, 0, 0, 0, 0}, {1, s.batch.extent(), s.heads, length, s.depth});
  return squeeze(seen, {0});
}

Value attention_part(ModelBuilder& model, const Value& x, int layer, Cache& cache, const Sizes& s) {
  const int64_t width = s.heads * s.depth;
  const Value joint =
      within(model, "qkv", [&] { return reshape(linear(model, x, 3 * width), {s.batch, s.seq, 3, s.heads, s.depth}); });
  const auto part = [&](int i) {
    return transpose(squeeze(slice_axis(joint, 2, i, Extent(i + 1)), {2}), {0, 2, 1, 3});
  };
  const Value keys = append(cache.keys, layer, part(1), s);
  const Value values = append(cache.values, layer, part(2), s);
  const Value mixed = transpose(attention(part(0), keys, values, {.causal = true}), {0, 2, 1, 3});
  return within(model, "output", [&] { return linear(model, reshape(mixed, x.shape().axes()), width); });
}

Value feed_forward_part(ModelBuilder& model, const Value& x) {
  const int64_t width = size_of(x, -1);
  const Value y = within(model, "up", [&] { return linear(model, x, 4 * width, "gelu_tanh"); });
  return within(model, "down", [&] { return linear(model, y, width); });
}

Value normalized(ModelBuilder& model, const char* name, const Value& x) {
  return within(model, name, [&] { return layer_norm_layer(model, x); });
}

}  // namespace

Model gpt2(const GptOptions& options) {
  require_option("gpt2", "heads", options.heads > 0 && options.width % options.heads == 0, "divide the width");
  ModelBuilder model("gpt2");
  const int64_t depth = options.width / options.heads;
  const Sizes sizes{"batch", "seq", Extent::name("past"), options.heads, depth};
  const Value tokens = model.data("tokens", shape(i64, sizes.batch, sizes.seq));
  const Shape cache_shape = shape(f32, options.layers, sizes.batch, options.heads, "total", depth);
  Cache cache{model.data("keys", cache_shape), model.data("values", cache_shape)};
  const Value words = model.parameter("words", {options.vocabulary, options.width}, Init::random, 0.02);
  const Value positions = model.parameter("positions", {options.positions, options.width}, Init::random, 0.02);
  Value x = take(words, tokens) + slice(positions, {sizes.past, 0}, {sizes.seq.extent(), options.width});
  for (int i = 0; i < options.layers; ++i) {
    const Scope layer(model, "layers", i);
    const Value first = normalized(model, "attention_norm", x);
    x = x + within(model, "attention", [&] { return attention_part(model, first, i, cache, sizes); });
    const Value second = normalized(model, "feed_forward_norm", x);
    x = x + within(model, "feed_forward", [&] { return feed_forward_part(model, second); });
  }
  x = normalized(model, "norm", x);
  const Value logits = contract(x, words, {.lhs_contract = {2}, .rhs_contract = {1}});  // words serve twice
  return model.finish({{"logits", logits}, {"new_keys", cache.keys, 1}, {"new_values", cache.values, 2}});
}

}  // namespace tenon
