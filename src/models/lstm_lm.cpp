// A language model of stacked LSTM layers.
#include <cmath>

#include "models/layers.h"
#include "tenon/recurrent.h"

namespace tenon {

Model lstm_lm(const LstmOptions& options) {
  ModelBuilder model("lstm_lm");
  const Value tokens = model.data("tokens", shape(i64, "seq", "batch"));
  Value x = take(model.parameter("words", {options.vocabulary, options.width}, Init::random, 0.1), tokens);
  for (int i = 0; i < options.layers; ++i) {
    const ModelBuilder::Scope scope(model, "layers", i);
    const int64_t gates = 4 * options.hidden;
    const double scale = 1 / std::sqrt(static_cast<double>(options.hidden));
    x = lstm(x, {.w = model.parameter("input", {gates, size_of(x, -1)}, Init::random, scale),
                 .r = model.parameter("recurrent", {gates, options.hidden}, Init::random, scale),
                 .bias = model.parameter("bias", {2 * gates}, Init::zeros)})
            .outputs;
  }
  return model.finish({{"logits", within(model, "head", [&] { return linear(model, x, options.vocabulary); })}});
}

}  // namespace tenon
