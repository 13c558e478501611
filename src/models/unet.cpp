// U-Net: down to small images with many channels, and up again with what was there on the way.
#include <cmath>

#include "models/layers.h"
#include "tenon/convolution.h"

namespace tenon {
namespace {

using Scope = ModelBuilder::Scope;

Value double_conv(ModelBuilder& model, Value x, int64_t channels, bool training) {
  for (int i = 0; i < 2; ++i) {
    const Scope scope(model, "unit", i);
    x = relu(conv_norm(model, x, channels, {.kernel = 3}, training));
  }
  return x;
}

/// Twice the size with half the channels.
Value upsample(ModelBuilder& model, const Value& x) {
  const Scope scope(model, "up");
  const int64_t channels = size_of(x, 1);
  const double scale = 1 / std::sqrt(static_cast<double>(channels));
  const Value weight = model.parameter("weight", {channels, channels / 2, 2, 2}, Init::random, scale);
  const Value bias = model.parameter("bias", {channels / 2}, Init::zeros);
  return conv_transpose(x, weight, {.stride = {2, 2}}) + reshape(bias, {channels / 2, 1, 1});
}

}  // namespace

Model unet(const UnetOptions& options) {
  require_option("unet", "levels", options.levels >= 1 && options.levels <= 16, "lie between 1 and 16");
  ModelBuilder model("unet");
  // Sizes are multiples by their type: every halving is exact, and nothing has to be checked on the way up.
  const int64_t unit = int64_t{1} << options.levels;
  Value x = model.data(
      "image", shape(f32, "batch", options.channels, unit * Extent::name("rows"), unit * Extent::name("columns")));
  std::vector<Value> kept;
  for (int i = 0; i < options.levels; ++i) {
    const Scope scope(model, "down", i);
    kept.push_back(double_conv(model, x, options.width << i, options.training));
    x = max_pool(kept.back(), {2, 2});
  }
  {
    const Scope scope(model, "bottom");
    x = double_conv(model, x, options.width << options.levels, options.training);
  }
  for (int i = options.levels; i-- > 0;) {
    const Scope scope(model, "level", i);
    x = concat({kept[static_cast<size_t>(i)], upsample(model, x)}, 1);
    x = double_conv(model, x, options.width << i, options.training);
  }
  const Scope scope(model, "head");
  return model.finish({{"logits", conv_layer(model, x, options.classes, {.kernel = 1, .bias = true})}});
}

}  // namespace tenon
