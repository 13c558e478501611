// MobileNet-V2 and EfficientNet-B0: networks of inverted residual blocks.
#include <algorithm>

#include "models/layers.h"
#include "tenon/convolution.h"

namespace tenon {
namespace {

using Scope = ModelBuilder::Scope;

struct Stage {
  int64_t kernel, expansion, channels;
  int blocks;
  int64_t stride;
};

/// What tells the two networks apart.
struct Family {
  std::vector<Stage> stages;
  Value (*activation)(const Value&);
  bool squeeze_excite;
};

/// The nearest multiple of 8, not more than a tenth below.
int64_t scaled(int64_t channels, double width) {
  const double wanted = static_cast<double>(channels) * width;
  const int64_t rounded = std::max<int64_t>(8, static_cast<int64_t>(wanted + 4) / 8 * 8);
  return static_cast<double>(rounded) < 0.9 * wanted ? rounded + 8 : rounded;
}

/// Channels weighted by what their means say.
Value squeeze_excite(ModelBuilder& model, const Value& x, int64_t squeezed) {
  Value weight = global_average_pool(x);
  {
    const Scope scope(model, "squeeze");
    weight = silu(conv_layer(model, weight, squeezed, {.kernel = 1, .bias = true}));
  }
  const Scope scope(model, "excite");
  return x * sigmoid(conv_layer(model, weight, size_of(x, 1), {.kernel = 1, .bias = true}));
}

Value inverted_residual(ModelBuilder& model, const Value& x, const Stage& stage, int64_t stride, int64_t outputs,
                        const Family& family, bool training) {
  const int64_t inputs = size_of(x, 1);
  const int64_t hidden = inputs * stage.expansion;
  Value y = x;
  if (stage.expansion != 1) {
    const Scope scope(model, "expand");
    y = family.activation(conv_norm(model, y, hidden, {.kernel = 1}, training));
  }
  {
    const Scope scope(model, "depthwise");
    const ConvLayer layer{.kernel = stage.kernel, .stride = stride, .groups = hidden};
    y = family.activation(conv_norm(model, y, hidden, layer, training));
  }
  if (family.squeeze_excite) {
    y = squeeze_excite(model, y, std::max<int64_t>(1, inputs / 4));
  }
  const Scope scope(model, "project");
  y = conv_norm(model, y, outputs, {.kernel = 1}, training);
  return stride == 1 && inputs == outputs ? x + y : y;
}

Model network(const char* name, const Family& family, const MobileNetOptions& options) {
  require_option(name, "width", options.width > 0 && options.width <= 100, "be positive, 100 at most");
  ModelBuilder model(name);
  Value x = model.data("image", shape(f32, "batch", 3, "height", "width"));
  {
    const Scope scope(model, "stem");
    x = family.activation(conv_norm(model, x, scaled(32, options.width), {.kernel = 3, .stride = 2}, options.training));
  }
  for (size_t s = 0; s < family.stages.size(); ++s) {
    const Scope stage_scope(model, "stage", static_cast<int>(s));
    const Stage& stage = family.stages[s];
    for (int i = 0; i < stage.blocks; ++i) {
      const Scope scope(model, "block", i);
      x = inverted_residual(model, x, stage, i == 0 ? stage.stride : 1, scaled(stage.channels, options.width), family,
                            options.training);
    }
  }
  {
    const Scope scope(model, "last");
    x = family.activation(conv_norm(model, x, scaled(1280, options.width), {.kernel = 1}, options.training));
  }
  return model.finish({{"logits", classifier_head(model, x, options.classes)}});
}

}  // namespace

Model mobilenet_v2(const MobileNetOptions& options) {
  const Family family{.stages = {{3, 1, 16, 1, 1},
                                 {3, 6, 24, 2, 2},
                                 {3, 6, 32, 3, 2},
                                 {3, 6, 64, 4, 2},
                                 {3, 6, 96, 3, 1},
                                 {3, 6, 160, 3, 2},
                                 {3, 6, 320, 1, 1}},
                      .activation = [](const Value& x) { return clamp(x, 0, 6); },
                      .squeeze_excite = false};
  return network("mobilenet_v2", family, options);
}

Model efficientnet_b0(const MobileNetOptions& options) {
  const Family family{.stages = {{3, 1, 16, 1, 1},
                                 {3, 6, 24, 2, 2},
                                 {5, 6, 40, 2, 2},
                                 {3, 6, 80, 3, 2},
                                 {5, 6, 112, 3, 1},
                                 {5, 6, 192, 4, 2},
                                 {3, 6, 320, 1, 1}},
                      .activation = [](const Value& x) { return silu(x); },
                      .squeeze_excite = true};
  return network("efficientnet_b0", family, options);
}

}  // namespace tenon
