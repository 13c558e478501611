// Residual networks: Deep Residual Learning for Image Recognition, with the stride on the 3x3 convolution.
#include "models/layers.h"
#include "tenon/convolution.h"

namespace tenon {
namespace {

using Scope = ModelBuilder::Scope;

Value convolution(ModelBuilder& model, int number, const Value& x, int64_t outputs, const ConvLayer& layer,
                  bool training) {
  const Scope scope(model, "unit", number);
  return conv_norm(model, x, outputs, layer, training);
}

/// x plus what two (or, with a bottleneck, three) convolutions make of it.
Value block(ModelBuilder& model, const Value& x, int64_t width, int64_t stride, const ResNetOptions& options) {
  const bool training = options.training;
  const int64_t outputs = options.bottleneck ? 4 * width : width;
  Value y;
  if (options.bottleneck) {
    y = relu(convolution(model, 0, x, width, {.kernel = 1}, training));
    y = relu(convolution(model, 1, y, width, {.kernel = 3, .stride = stride}, training));
    y = convolution(model, 2, y, outputs, {.kernel = 1}, training);
  } else {
    y = relu(convolution(model, 0, x, width, {.kernel = 3, .stride = stride}, training));
    y = convolution(model, 1, y, outputs, {.kernel = 3}, training);
  }
  Value shortcut = x;
  if (stride != 1 || size_of(x, 1) != outputs) {
    const Scope scope(model, "shortcut");
    shortcut = conv_norm(model, x, outputs, {.kernel = 1, .stride = stride}, training);
  }
  return relu(y + shortcut);
}

}  // namespace

Model resnet(const ResNetOptions& options) {
  require_option("resnet", "blocks", !options.blocks.empty(), "name at least one stage");
  ModelBuilder model("resnet");
  Value x = model.data("image", shape(f32, "batch", 3, "height", "width"));
  {
    const Scope scope(model, "stem");
    x = relu(conv_norm(model, x, options.width, {.kernel = 7, .stride = 2}, options.training));
    x = max_pool(x, {3, 3}, {.stride = {2, 2}, .low = {1, 1}, .high = {1, 1}});
  }
  for (size_t stage = 0; stage < options.blocks.size(); ++stage) {
    const Scope stage_scope(model, "stage", static_cast<int>(stage));
    for (int i = 0; i < options.blocks[stage]; ++i) {
      const Scope scope(model, "block", i);
      x = block(model, x, options.width << stage, stage > 0 && i == 0 ? 2 : 1, options);
    }
  }
  return model.finish({{"logits", classifier_head(model, x, options.classes)}});
}

}  // namespace tenon
