// Layers, as PyTorch's torch.nn has them. Parameters are laid out and called as there, so that weights in files fit.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/module.h"  // IWYU pragma: export
#include "tenon/tensor.h"

namespace tenon::nn {

/// x w^T + b for x[..., in]; `weight` is [out, in], `bias` [out].
class Linear : public Layer {
 public:
  Linear(int64_t in, int64_t out, bool with_bias = true, Tensor::Where where = Tensor::Where::current());
  Tensor operator()(const Tensor& x) const override;

  Tensor weight, bias;
};

struct ConvSettings {
  std::vector<int64_t> stride = {};
  std::vector<int64_t> padding = {};
  std::vector<int64_t> dilation = {};
  int64_t groups = 1;
  bool bias = true;
};
/// x[batch, in, position...] with `weight` [out, in / groups, size...]. One entry of a list stands for all axes.
class Conv : public Layer {
 public:
  Tensor operator()(const Tensor& x) const override;

  Tensor weight, bias;

 protected:
  Conv(int axes, int64_t in, int64_t out, std::vector<int64_t> size, ConvSettings settings, Tensor::Where where);

 private:
  ConvSettings settings_;
};
struct Conv1d : Conv {
  Conv1d(int64_t in, int64_t out, std::vector<int64_t> size, ConvSettings settings = {},
         Tensor::Where where = Tensor::Where::current())
      : Conv(1, in, out, std::move(size), std::move(settings), where) {}
};
struct Conv2d : Conv {
  Conv2d(int64_t in, int64_t out, std::vector<int64_t> size, ConvSettings settings = {},
         Tensor::Where where = Tensor::Where::current())
      : Conv(2, in, out, std::move(size), std::move(settings), where) {}
};
struct Conv3d : Conv {
  Conv3d(int64_t in, int64_t out, std::vector<int64_t> size, ConvSettings settings = {},
         Tensor::Where where = Tensor::Where::current())
      : Conv(3, in, out, std::move(size), std::move(settings), where) {}
};

struct ConvTransposeSettings {
  std::vector<int64_t> stride = {};
  std::vector<int64_t> padding = {};
  std::vector<int64_t> output_padding = {};
  std::vector<int64_t> dilation = {};
  int64_t groups = 1;
  bool bias = true;
};
/// The transpose of a convolution; `weight` is [in, out / groups, size...]. The number of entries of `size` says how
/// many position axes there are.
class ConvTranspose : public Layer {
 public:
  ConvTranspose(int64_t in, int64_t out, std::vector<int64_t> size, ConvTransposeSettings settings = {},
                Tensor::Where where = Tensor::Where::current());
  Tensor operator()(const Tensor& x) const override;

  Tensor weight, bias;

 private:
  ConvTransposeSettings settings_;
};

/// Over all axes but the second. Training, it uses the batch's moments and updates running_mean and running_var.
class BatchNorm : public Layer {
 public:
  explicit BatchNorm(int64_t channels, double momentum = 0.1, double epsilon = 1e-5);
  Tensor operator()(const Tensor& x) const override;

  Tensor weight, bias, running_mean, running_var, num_batches_tracked;

 private:
  double momentum_, epsilon_;
};

/// Over the last axes, which have these sizes.
class LayerNorm : public Layer {
 public:
  explicit LayerNorm(std::vector<int64_t> sizes, double epsilon = 1e-5);
  Tensor operator()(const Tensor& x) const override;

  Tensor weight, bias;

 private:
  double epsilon_;
};

class RMSNorm : public Layer {
 public:
  explicit RMSNorm(std::vector<int64_t> sizes, double epsilon = 1e-5);
  Tensor operator()(const Tensor& x) const override;

  Tensor weight;

 private:
  double epsilon_;
};

class GroupNorm : public Layer {
 public:
  GroupNorm(int64_t groups, int64_t channels, double epsilon = 1e-5);
  Tensor operator()(const Tensor& x) const override;

  Tensor weight, bias;

 private:
  int64_t groups_;
  double epsilon_;
};

/// Rows of `weight` [count, width] at integer positions.
class Embedding : public Layer {
 public:
  Embedding(int64_t count, int64_t width, Tensor::Where where = Tensor::Where::current());
  Tensor operator()(const Tensor& index) const override;

  Tensor weight;
};

/// Training, zeros with probability `rate`, and the rest scaled up; else the identity.
class Dropout : public Layer {
 public:
  explicit Dropout(double rate = 0.5, Generator* generator = nullptr);
  Tensor operator()(const Tensor& x) const override;

 private:
  double rate_;
  Generator* generator_;
};

/// Self- or cross-attention over [batch, seq, width], PyTorch's with batch_first.
class MultiheadAttention : public Module {
 public:
  MultiheadAttention(int64_t width, int64_t heads, Tensor::Where where = Tensor::Where::current());
  /// `mask` broadcasts to [batch, heads, query, key]: bool, true where a key is seen, or a float that is added.
  Tensor operator()(const Tensor& query, const Tensor& key, const Tensor& value, bool causal = false,
                    const Tensor& mask = {}) const;
  Tensor operator()(const Tensor& x, bool causal = false, const Tensor& mask = {}) const {
    return (*this)(x, x, x, causal, mask);
  }

  Tensor in_proj_weight, in_proj_bias;
  Linear out_proj;

 private:
  int64_t width_, heads_;
};

/// What LSTM and GRU share: weights of each layer and direction, over [batch, seq, in], PyTorch's with batch_first.
class Recurrent : public Module {
 protected:
  Recurrent(const char* name, int64_t gates, int64_t in, int64_t hidden, int64_t layers, bool bidirectional,
            Tensor::Where where);

  struct Direction {
    Tensor w, r, bias_w, bias_r;
  };
  /// Each layer on the outputs of the one before: `run` gives the outputs [seq, batch, hidden] of a direction and its
  /// last states, which become [layers * directions, batch, hidden].
  using Run =
      std::function<std::vector<Tensor>(const Direction& weights, const Tensor& x, size_t number, bool reverse)>;
  std::vector<Tensor> through_layers(const Tensor& x, const Run& run) const;
  /// The rows of these gates, in this order.
  Tensor reordered(const Tensor& gates, const std::vector<int64_t>& order) const;

 private:
  int64_t hidden_;
  int directions_;
  std::vector<Direction> parts_;
};

struct LstmResult {
  Tensor outputs;  // [batch, seq, directions * hidden]
  Tensor h, c;     // [layers * directions, batch, hidden]
};
class LSTM : public Recurrent {
 public:
  LSTM(int64_t in, int64_t hidden, int64_t layers = 1, bool bidirectional = false,
       Tensor::Where where = Tensor::Where::current());
  LstmResult operator()(const Tensor& x, const Tensor& h = {}, const Tensor& c = {}) const;
};

struct GruResult {
  Tensor outputs;  // [batch, seq, directions * hidden]
  Tensor h;        // [layers * directions, batch, hidden]
};
class GRU : public Recurrent {
 public:
  GRU(int64_t in, int64_t hidden, int64_t layers = 1, bool bidirectional = false,
      Tensor::Where where = Tensor::Where::current());
  GruResult operator()(const Tensor& x, const Tensor& h = {}) const;
};

struct PoolSettings {
  std::vector<int64_t> stride = {};  // where there is none: the window's size
  std::vector<int64_t> padding = {};
  std::vector<int64_t> dilation = {};  // of MaxPool alone
  bool ceil_mode = false;
  bool count_include_pad = true;  // of AvgPool alone
};
/// A window slides along the positions of [batch, channel, position...]. One entry of a list stands for all axes.
class Pool : public Layer {
 protected:
  Pool(const std::string& name, int axes, std::vector<int64_t> size, PoolSettings settings);

  std::vector<int64_t> size_;
  PoolSettings settings_;
};
/// The largest under the window.
class MaxPool : public Pool {
 public:
  Tensor operator()(const Tensor& x) const override;

 protected:
  using Pool::Pool;
};
/// The mean under the window.
class AvgPool : public Pool {
 public:
  Tensor operator()(const Tensor& x) const override;

 protected:
  AvgPool(const std::string& name, int axes, std::vector<int64_t> size, PoolSettings settings);
};
/// A pool along so many axes, which errors call by its name.
template <class Kind, int Axes>
struct PoolAlong : Kind {
  explicit PoolAlong(std::vector<int64_t> size, PoolSettings settings = {})
      : Kind((std::is_same_v<Kind, MaxPool> ? "MaxPool" : "AvgPool") + std::to_string(Axes) + "d", Axes,
             std::move(size), std::move(settings)) {}
};
using MaxPool1d = PoolAlong<MaxPool, 1>;
using MaxPool2d = PoolAlong<MaxPool, 2>;
using MaxPool3d = PoolAlong<MaxPool, 3>;
using AvgPool1d = PoolAlong<AvgPool, 1>;
using AvgPool2d = PoolAlong<AvgPool, 2>;
using AvgPool3d = PoolAlong<AvgPool, 3>;
/// Means of `size` equal parts of each position axis, whose sizes must be multiples.
class AdaptiveAvgPool : public Layer {
 public:
  explicit AdaptiveAvgPool(std::vector<int64_t> size) : size_(std::move(size)) {}
  Tensor operator()(const Tensor& x) const override;

 private:
  std::vector<int64_t> size_;
};
/// All axes from `first` on as one.
class Flatten : public Layer {
 public:
  explicit Flatten(int first = 1) : first_(first) {}
  Tensor operator()(const Tensor& x) const override { return x.flatten(first_); }

 private:
  int first_;
};

/// A function as a layer.
class Function : public Layer {
 public:
  explicit Function(std::function<Tensor(const Tensor&)> f) : f_(std::move(f)) {}
  Tensor operator()(const Tensor& x) const override { return f_(x); }

 private:
  std::function<Tensor(const Tensor&)> f_;
};

/// An elementwise function by its name: "relu", "gelu", "tanh".
class Activation : public Layer {
 public:
  explicit Activation(std::string name);
  Tensor operator()(const Tensor& x) const override;

 private:
  std::string name_;
};

/// Layers one after the other; the names of their parameters begin with 0, 1, ...
class Sequential : public Layer {
 public:
  template <class... Layers>
  explicit Sequential(Layers... layers) {
    (add(std::make_shared<Layers>(std::move(layers))), ...);
  }
  void add(std::shared_ptr<Layer> layer);
  Tensor operator()(const Tensor& x) const override;

 private:
  std::vector<std::shared_ptr<Layer>> layers_;
};

/// Ways to begin. They write into the tensor and compute it at once, from default_generator() where none is given.
namespace init {
void uniform_(Tensor x, double low, double high, Generator* generator = nullptr,
              Tensor::Where where = Tensor::Where::current());
void normal_(Tensor x, double mean = 0, double deviation = 1, Generator* generator = nullptr,
             Tensor::Where where = Tensor::Where::current());
void constant_(Tensor x, double value);
/// After Glorot and Bengio, by fan-in and fan-out: weights are [out, in, window...].
void xavier_uniform_(Tensor x, double gain = 1, Generator* generator = nullptr,
                     Tensor::Where where = Tensor::Where::current());
void xavier_normal_(Tensor x, double gain = 1, Generator* generator = nullptr,
                    Tensor::Where where = Tensor::Where::current());
/// After He et al., by fan-in; `a` is the slope below 0 of the leaky relu behind it.
void kaiming_uniform_(Tensor x, double a = 0, Generator* generator = nullptr,
                      Tensor::Where where = Tensor::Where::current());
void kaiming_normal_(Tensor x, double a = 0, Generator* generator = nullptr,
                     Tensor::Where where = Tensor::Where::current());
}  // namespace init

}  // namespace tenon::nn
