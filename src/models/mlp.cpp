#include "models/layers.h"

namespace tenon {

Model mlp(const MlpOptions& options) {
  require_option("mlp", "layers", options.layers >= 1, "be at least 1");
  ModelBuilder model("mlp");
  Value x = model.data("x", shape(f32, "batch", options.inputs));
  for (int i = 0; i < options.layers; ++i) {
    const ModelBuilder::Scope scope(model, "layers", i);
    const bool last = i == options.layers - 1;
    x = linear(model, x, last ? options.outputs : options.hidden, last ? "" : "relu");
  }
  return model.finish({{"logits", x}});
}

}  // namespace tenon
