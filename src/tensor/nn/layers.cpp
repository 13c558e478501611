#include <fmt/format.h>

#include <cmath>

#include "base/fail.h"
#include "tenon/autograd.h"
#include "tenon/modules.h"
#include "tensor/nn/spread.h"
#include "tensor/record/argument.h"

namespace tenon::nn {
namespace {

std::vector<Axis> axes_of(const std::vector<int64_t>& sizes) { return {sizes.begin(), sizes.end()}; }

/// Uniform within 1 / sqrt(fan-in): what PyTorch's linear layers and convolutions begin with.
Tensor uniform_weight(const std::vector<int64_t>& sizes, double fan_in, Tensor::Where where) {
  Tensor weight = Tensor::zeros(axes_of(sizes));
  const double bound = fan_in > 0 ? 1 / std::sqrt(fan_in) : 0;
  init::uniform_(weight, -bound, bound, nullptr, where);
  return weight;
}

Tensor filled(const std::vector<int64_t>& sizes, double value) {
  Tensor x = Tensor::zeros(axes_of(sizes));
  init::constant_(x, value);
  return x;
}

std::vector<Extent> extents(const std::vector<int64_t>& list) { return {list.begin(), list.end()}; }

double product(const std::vector<int64_t>& list) {
  double result = 1;
  for (const int64_t item : list) {
    result *= static_cast<double>(item);
  }
  return result;
}

/// bias[channel] along axis 1 of a value of that rank.
Tensor along_channels(const Tensor& bias, int rank) {
  std::vector<Axis> axes(static_cast<size_t>(rank - 1), Axis(1));
  axes[0] = Axis(bias.size(0));
  return bias.reshape(axes);
}

void require_divides(const char* who, const char* what, int64_t groups, int64_t channels) {
  if (groups < 1 || channels % groups != 0) {
    fail("{}: {} {} are no multiple of {} groups", who, channels, what, groups);
  }
}

}  // namespace

std::vector<int64_t> spread(const char* who, const char* what, const std::vector<int64_t>& list, size_t count) {
  if (list.size() == 1) {
    return std::vector<int64_t>(count, list[0]);
  }
  if (!list.empty() && list.size() != count) {
    fail("{}: {} has {} entries, must have 1 or {}", who, what, list.size(), count);
  }
  return list;
}

Linear::Linear(int64_t in, int64_t out, bool with_bias, Tensor::Where where)
    : weight(parameter("weight", uniform_weight({out, in}, static_cast<double>(in), where))) {
  if (with_bias) {
    bias = parameter("bias", uniform_weight({out}, static_cast<double>(in), where));
  }
}

Tensor Linear::operator()(const Tensor& x) const { return dense(x, weight.t(), bias); }

Conv::Conv(int axes, int64_t in, int64_t out, std::vector<int64_t> size, ConvSettings settings, Tensor::Where where)
    : settings_(std::move(settings)) {
  const auto count = static_cast<size_t>(axes);
  size = spread("Conv", "size", size, count);
  if (size.empty()) {
    fail("Conv: size has no entries, must have 1 or {}", count);
  }
  require_divides("Conv", "channels", settings_.groups, in);
  require_divides("Conv", "output channels", settings_.groups, out);
  settings_.stride = spread("Conv", "stride", settings_.stride, count);
  settings_.padding = spread("Conv", "padding", settings_.padding, count);
  settings_.dilation = spread("Conv", "dilation", settings_.dilation, count);
  std::vector<int64_t> sizes{out, in / settings_.groups};
  sizes.insert(sizes.end(), size.begin(), size.end());
  const double fan_in = product(sizes) / static_cast<double>(out);
  weight = parameter("weight", uniform_weight(sizes, fan_in, where));
  if (settings_.bias) {
    bias = parameter("bias", uniform_weight({out}, fan_in, where));
  }
}

Tensor Conv::operator()(const Tensor& x) const {
  const Tensor y = conv(x, weight, settings_.stride, {}, settings_.dilation, extents(settings_.padding),
                        extents(settings_.padding), settings_.groups);
  return bias.defined() ? y + along_channels(bias, y.rank()) : y;
}

ConvTranspose::ConvTranspose(int64_t in, int64_t out, std::vector<int64_t> size, ConvTransposeSettings settings,
                             Tensor::Where where)
    : settings_(std::move(settings)) {
  require_divides("ConvTranspose", "channels", settings_.groups, in);
  require_divides("ConvTranspose", "output channels", settings_.groups, out);
  const size_t count = size.size();
  settings_.stride = spread("ConvTranspose", "stride", settings_.stride, count);
  settings_.padding = spread("ConvTranspose", "padding", settings_.padding, count);
  settings_.output_padding = spread("ConvTranspose", "output_padding", settings_.output_padding, count);
  settings_.dilation = spread("ConvTranspose", "dilation", settings_.dilation, count);
  std::vector<int64_t> sizes{in, out / settings_.groups};
  sizes.insert(sizes.end(), size.begin(), size.end());
  const double fan_in = product(sizes) / static_cast<double>(in);
  weight = parameter("weight", uniform_weight(sizes, fan_in, where));
  if (settings_.bias) {
    bias = parameter("bias", uniform_weight({out}, fan_in, where));
  }
}

Tensor ConvTranspose::operator()(const Tensor& x) const {
  const Tensor y = conv_transpose(x, weight, settings_.stride, settings_.dilation, extents(settings_.padding),
                                  extents(settings_.padding), extents(settings_.output_padding), settings_.groups);
  return bias.defined() ? y + along_channels(bias, y.rank()) : y;
}

BatchNorm::BatchNorm(int64_t channels, double momentum, double epsilon)
    : weight(parameter("weight", filled({channels}, 1))),
      bias(parameter("bias", filled({channels}, 0))),
      running_mean(buffer("running_mean", filled({channels}, 0))),
      running_var(buffer("running_var", filled({channels}, 1))),
      num_batches_tracked(buffer("num_batches_tracked", tensor(Array(Dtype::i64, {})))),
      momentum_(momentum),
      epsilon_(epsilon) {}

Tensor BatchNorm::operator()(const Tensor& x) const {
  if (!is_training()) {
    return batch_norm(x, weight, bias, running_mean, running_var, epsilon_);
  }
  const std::vector<Tensor> found =
      batch_norm_training(x, weight, bias, running_mean, running_var, momentum_, epsilon_);
  const NoGrad none;
  Tensor mean = running_mean;
  Tensor variance = running_var;
  Tensor batches = num_batches_tracked;
  mean.copy_(found[1]);
  variance.copy_(found[2]);
  batches.copy_(tensor(Array::from<int64_t>({}, {static_cast<int64_t>(batches.item({})) + 1})));
  return found[0];
}

LayerNorm::LayerNorm(std::vector<int64_t> sizes, double epsilon)
    : weight(parameter("weight", filled(sizes, 1))), bias(parameter("bias", filled(sizes, 0))), epsilon_(epsilon) {}

namespace {

/// The last `count` axes.
std::vector<int64_t> last_axes(int count) {
  std::vector<int64_t> axes;
  for (int i = count; i > 0; --i) {
    axes.push_back(-i);
  }
  return axes;
}

}  // namespace

Tensor LayerNorm::operator()(const Tensor& x) const {
  return layer_norm(x, weight, bias, last_axes(weight.rank()), epsilon_);
}

RMSNorm::RMSNorm(std::vector<int64_t> sizes, double epsilon)
    : weight(parameter("weight", filled(sizes, 1))), epsilon_(epsilon) {}
Tensor RMSNorm::operator()(const Tensor& x) const { return rms_norm(x, weight, last_axes(weight.rank()), epsilon_); }

GroupNorm::GroupNorm(int64_t groups, int64_t channels, double epsilon)
    : weight(parameter("weight", filled({channels}, 1))),
      bias(parameter("bias", filled({channels}, 0))),
      groups_(groups),
      epsilon_(epsilon) {
  require_divides("GroupNorm", "channels", groups, channels);
}
Tensor GroupNorm::operator()(const Tensor& x) const { return group_norm(x, weight, bias, groups_, epsilon_); }

Embedding::Embedding(int64_t count, int64_t width, Tensor::Where where) {
  Tensor begin = Tensor::zeros(axes_of({count, width}));
  init::normal_(begin, 0, 1, nullptr, where);
  weight = parameter("weight", begin);
}
Tensor Embedding::operator()(const Tensor& index) const { return weight.take(index, 0); }

Dropout::Dropout(double rate, Generator* generator) : rate_(rate), generator_(generator) {
  if (!(rate >= 0 && rate < 1)) {
    fail("Dropout: the rate is {}, must be at least 0 and less than 1", rate);
  }
}
Tensor Dropout::operator()(const Tensor& x) const {
  if (!is_training() || rate_ == 0) {
    return x;
  }
  const auto [key, counter] = (generator_ != nullptr ? *generator_ : default_generator()).next();
  return dropout(x, rate_, key, counter);
}

Activation::Activation(std::string name) : name_(std::move(name)) {}
Tensor Activation::operator()(const Tensor& x) const { return tensors::map(name_, {x}); }

void Sequential::add(std::shared_ptr<Layer> layer) {
  add_child(std::to_string(layers_.size()), *layer);
  layers_.push_back(std::move(layer));
}
Tensor Sequential::operator()(const Tensor& x) const {
  Tensor y = x;
  for (const auto& layer : layers_) {
    y = (*layer)(y);
  }
  return y;
}

}  // namespace tenon::nn
