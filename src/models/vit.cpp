// The vision transformer: patches of an image as tokens, norms before each part.
#include "models/layers.h"
#include "tenon/convolution.h"

namespace tenon {

using Scope = ModelBuilder::Scope;

Model vit(const VitOptions& options) {
  require_option("vit", "patch", options.patch > 0 && options.image % options.patch == 0, "divide the image's size");
  require_option("vit", "heads", options.heads > 0 && options.width % options.heads == 0, "divide the width");
  ModelBuilder model("vit");
  const Value image = model.data("image", shape(f32, "batch", 3, options.image, options.image));
  const int64_t patches = (options.image / options.patch) * (options.image / options.patch);
  Value x = within(model, "patches", [&] {
    const double scale = 0.02;
    const Value weight =
        model.parameter("weight", {options.width, 3, options.patch, options.patch}, Init::random, scale);
    const Value bias = model.parameter("bias", {options.width}, Init::zeros);
    const Value cut = conv(image, weight, {.stride = {options.patch, options.patch}});
    return transpose(reshape(cut, {"batch", options.width, patches}), {0, 2, 1}) + bias;
  });
  const Value token = model.parameter("class_token", {1, 1, options.width}, Init::random, 0.02);
  x = concat({broadcast_to(token, {"batch", 1, options.width}), x}, 1);
  x = x + model.parameter("positions", {patches + 1, options.width}, Init::random, 0.02);
  for (int i = 0; i < options.layers; ++i) {
    const Scope layer(model, "layers", i);
    const Value first = within(model, "attention_norm", [&] { return layer_norm_layer(model, x, 1e-6); });
    x = x + within(model, "attention", [&] { return self_attention(model, first, options.heads); });
    const Value second = within(model, "feed_forward_norm", [&] { return layer_norm_layer(model, x, 1e-6); });
    x = x + within(model, "feed_forward", [&] { return feed_forward(model, second, options.hidden); });
  }
  x = within(model, "norm", [&] { return layer_norm_layer(model, x, 1e-6); });
  x = squeeze(slice_axis(x, 1, 0, Extent(1)), {1});
  return model.finish({{"logits", within(model, "head", [&] { return linear(model, x, options.classes); })}});
}

}  // namespace tenon
