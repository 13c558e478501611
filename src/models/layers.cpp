#include "models/layers.h"

#include <cmath>

#include "base/fail.h"
#include "tenon/convolution.h"
#include "tenon/nn.h"

namespace tenon {
namespace {

/// x[batch, seq, heads * depth] as [batch, heads, seq, depth].
Value split_heads(const Value& x, int heads) {
  const Shape& shape = x.shape();
  return transpose(reshape(x, {shape.axis(0), shape.axis(1), heads, size_of(x, 2) / heads}), {0, 2, 1, 3});
}

}  // namespace

int64_t size_of(const Value& x, int axis) {
  const auto size = x.extent(axis).constant();
  if (!size) {
    fail("a layer's parameters need axis {} of {} to have a static size", axis, x.shape().to_string());
  }
  return *size;
}

Value linear(ModelBuilder& model, const Value& x, int64_t outputs, std::string_view activation) {
  const int64_t inputs = size_of(x, -1);
  const double scale = 1 / std::sqrt(static_cast<double>(inputs));
  const Value weight = model.parameter("weight", {inputs, outputs}, Init::random, scale);
  const Value bias = model.parameter("bias", {outputs}, Init::zeros);
  return dense(x, weight, bias, activation);
}

Value conv_layer(ModelBuilder& model, const Value& x, int64_t outputs, const ConvLayer& layer) {
  const int64_t inputs = size_of(x, 1) / layer.groups;
  const double fan_in = static_cast<double>(inputs * layer.kernel * layer.kernel);
  const Value weight =
      model.parameter("weight", {outputs, inputs, layer.kernel, layer.kernel}, Init::random, std::sqrt(2 / fan_in));
  const Extent margin = (layer.kernel - 1) / 2;
  const Value y = conv(x, weight,
                       {.stride = {layer.stride, layer.stride},
                        .low = {margin, margin},
                        .high = {margin, margin},
                        .groups = layer.groups});
  if (!layer.bias) {
    return y;
  }
  return y + reshape(model.parameter("bias", {outputs}, Init::zeros), {outputs, 1, 1});
}

Value batch_norm_layer(ModelBuilder& model, const Value& x, bool training) {
  const int64_t channels = size_of(x, 1);
  const Value scale = model.parameter("scale", {channels}, Init::ones);
  const Value bias = model.parameter("bias", {channels}, Init::zeros);
  const Value mean = model.statistic("running_mean", {channels}, Init::zeros);
  const Value variance = model.statistic("running_variance", {channels}, Init::ones);
  if (!training) {
    return batch_norm(x, scale, bias, mean, variance);
  }
  const BatchNorm result = batch_norm_training(x, scale, bias, mean, variance);
  model.update(mean, result.running_mean);
  model.update(variance, result.running_variance);
  return result.y;
}

Value conv_norm(ModelBuilder& model, const Value& x, int64_t outputs, const ConvLayer& layer, bool training) {
  const Value y = within(model, "conv", [&] { return conv_layer(model, x, outputs, layer); });
  return within(model, "norm", [&] { return batch_norm_layer(model, y, training); });
}

Value layer_norm_layer(ModelBuilder& model, const Value& x, double epsilon) {
  const int64_t width = size_of(x, -1);
  const Value scale = model.parameter("scale", {width}, Init::ones);
  const Value bias = model.parameter("bias", {width}, Init::zeros);
  return layer_norm(x, scale, bias, {-1}, epsilon);
}

Value classifier_head(ModelBuilder& model, const Value& x, int64_t classes) {
  const Value pooled = reshape(global_average_pool(x), {x.shape().axis(0), size_of(x, 1)});
  return within(model, "head", [&] { return linear(model, pooled, classes); });
}

Value self_attention(ModelBuilder& model, const Value& x, int heads, const Value& mask) {
  const int64_t width = size_of(x, -1);
  const auto project = [&](const char* name) {
    return within(model, name, [&] { return split_heads(linear(model, x, width), heads); });
  };
  const Value query = project("query");
  const Value key = project("key");
  const Value value = project("value");
  const Value mixed = transpose(attention(query, key, value, {.mask = mask}), {0, 2, 1, 3});
  return within(model, "output", [&] { return linear(model, reshape(mixed, x.shape().axes()), width); });
}

Value feed_forward(ModelBuilder& model, const Value& x, int64_t hidden) {
  const int64_t width = size_of(x, -1);
  const Value middle = within(model, "up", [&] { return linear(model, x, hidden, "gelu"); });
  return within(model, "down", [&] { return linear(model, middle, width); });
}

}  // namespace tenon
