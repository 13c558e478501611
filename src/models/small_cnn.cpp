#include "models/layers.h"
#include "tenon/convolution.h"

namespace tenon {

Model small_cnn(const CnnOptions& options) {
  require_option("small_cnn", "image", options.image > 0 && options.image % 4 == 0, "be a multiple of 4");
  ModelBuilder model("small_cnn");
  Value x = model.data("image", shape(f32, "batch", options.channels, options.image, options.image));
  for (int i = 0; i < 2; ++i) {
    const ModelBuilder::Scope scope(model, "conv", i);
    x = max_pool(relu(conv_layer(model, x, options.width << i, {.bias = true})), {2, 2});
  }
  x = reshape(x, {x.shape().axis(0), -1});
  const ModelBuilder::Scope scope(model, "head");
  return model.finish({{"logits", linear(model, x, options.classes)}});
}

}  // namespace tenon
