// Layers that own parameters. Each takes its names from the open scope of the builder.
#pragma once

#include <string_view>

#include "models/builder.h"

namespace tenon {

/// The static size of an axis, which parameters have to fit.
int64_t size_of(const Value& x, int axis);

/// activation(x weight + bias) on the last axis.
Value linear(ModelBuilder& model, const Value& x, int64_t outputs, std::string_view activation = {});

struct ConvLayer {
  int64_t kernel = 3, stride = 1, groups = 1;
  bool bias = false;
};
/// A square convolution that keeps the size at stride 1 (odd kernels), on [batch, channel, height, width].
Value conv_layer(ModelBuilder& model, const Value& x, int64_t outputs, const ConvLayer& layer = {});

/// Batch norm over channels: by running statistics, or in training by this batch's, updating them.
Value batch_norm_layer(ModelBuilder& model, const Value& x, bool training);

/// conv_layer, batch_norm_layer in scopes `conv` and `norm`.
Value conv_norm(ModelBuilder& model, const Value& x, int64_t outputs, const ConvLayer& layer, bool training);

Value layer_norm_layer(ModelBuilder& model, const Value& x, double epsilon = 1e-5);

/// The mean over all positions, then a linear layer: the head of an image classifier.
Value classifier_head(ModelBuilder& model, const Value& x, int64_t classes);

/// Self-attention over x[batch, seq, width], with projections in scopes query, key, value and output.
Value self_attention(ModelBuilder& model, const Value& x, int heads, const Value& mask = {});

/// linear to `hidden` with gelu, and back.
Value feed_forward(ModelBuilder& model, const Value& x, int64_t hidden);

}  // namespace tenon
