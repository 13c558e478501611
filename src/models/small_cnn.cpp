#include "base/fail.h"
#include "models/layers.h"
#include "tenon/convolution.h"

namespace tenon {

Model small_cnn(const CnnOptions& options) {
  if (options.image % 4 != 0) {
    fail("small_cnn: the image size is {}, must be a multiple of 4", options.image);
  }
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
