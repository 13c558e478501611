// Modules: layers with parameters and buffers that have names, as PyTorch's torch.nn has them. Parameters are laid out
// and called as there, so that weights in files fit.
//
//   struct Net : nn::Module {
//     nn::Linear hidden = child("hidden", nn::Linear(784, 128));
//     nn::Linear out = child("out", nn::Linear(128, 10));
//     Tensor operator()(const Tensor& x) const { return out(relu(hidden(x))); }
//   };
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tenon/safetensors.h"
#include "tenon/tensor.h"

namespace tenon::nn {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

/// Parameters, buffers and modules inside of it, by name. A handle: copies share all of them.
class Module {
 public:
  Module();
  virtual ~Module() = default;
  Module(const Module&) = default;
  Module(Module&&) = default;
  Module& operator=(const Module&) = default;
  Module& operator=(Module&&) = default;

  /// Those inside included, as `hidden.weight`; one that several modules share is there once.
  NamedTensors named_parameters() const;
  NamedTensors named_buffers() const;
  std::vector<Tensor> parameters() const;
  int64_t parameter_count() const;

  /// Training is what modules begin with: dropout drops, batch norms use the batch's moments and keep running ones.
  void train(bool training = true) const;
  void eval() const { train(false); }
  bool is_training() const;
  /// Give parameters up, or take them up again: whether gradients are wanted by them.
  void requires_grad(bool wanted) const;

  /// All parameters and buffers as arrays, computed by one program; and the way back, which checks every name and size
  /// before it writes any. With `strict`, both sides must have the same names.
  SafeTensors state(std::source_location where = std::source_location::current()) const;
  void load_state(const SafeTensors& state, bool strict = true) const;
  void save(const std::filesystem::path& file, std::source_location where = std::source_location::current()) const;
  void load(const std::filesystem::path& file, bool strict = true) const;

 protected:
  /// `tensor` becomes a parameter: gradients are wanted by it.
  Tensor parameter(std::string name, Tensor tensor);
  /// State that is not trained.
  Tensor buffer(std::string name, Tensor tensor);
  /// A module inside this one.
  template <class M>
  M child(std::string name, M module) {
    add_child(std::move(name), module);
    return module;
  }
  void add_child(std::string name, const Module& module);

 private:
  /// All names, of parameters and buffers, those that share a tensor too.
  NamedTensors everything() const;

  struct State;
  std::shared_ptr<State> state_;
};

/// A module from one tensor to one tensor.
class Layer : public Module {
 public:
  virtual Tensor operator()(const Tensor& x) const = 0;
};

/// x w^T + b for x[..., in]; `weight` is [out, in], `bias` [out].
class Linear : public Layer {
 public:
  Linear(int64_t in, int64_t out, bool with_bias = true);
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
  Conv(int axes, int64_t in, int64_t out, std::vector<int64_t> size, ConvSettings settings);

 private:
  ConvSettings settings_;
};
struct Conv1d : Conv {
  Conv1d(int64_t in, int64_t out, std::vector<int64_t> size, ConvSettings settings = {})
      : Conv(1, in, out, std::move(size), std::move(settings)) {}
};
struct Conv2d : Conv {
  Conv2d(int64_t in, int64_t out, std::vector<int64_t> size, ConvSettings settings = {})
      : Conv(2, in, out, std::move(size), std::move(settings)) {}
};
struct Conv3d : Conv {
  Conv3d(int64_t in, int64_t out, std::vector<int64_t> size, ConvSettings settings = {})
      : Conv(3, in, out, std::move(size), std::move(settings)) {}
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
  ConvTranspose(int64_t in, int64_t out, std::vector<int64_t> size, ConvTransposeSettings settings = {});
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
  Embedding(int64_t count, int64_t width);
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
  MultiheadAttention(int64_t width, int64_t heads);
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

struct LstmResult {
  Tensor outputs;  // [batch, seq, directions * hidden]
  Tensor h, c;     // [layers * directions, batch, hidden]
};
/// Over [batch, seq, in], PyTorch's with batch_first.
class LSTM : public Module {
 public:
  LSTM(int64_t in, int64_t hidden, int64_t layers = 1, bool bidirectional = false);
  LstmResult operator()(const Tensor& x, const Tensor& h = {}, const Tensor& c = {}) const;

 private:
  struct Direction {
    Tensor w, r, bias_w, bias_r;
  };
  int64_t hidden_;
  int directions_;
  std::vector<Direction> parts_;
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
void uniform_(const Tensor& x, double low, double high, Generator* generator = nullptr);
void normal_(const Tensor& x, double mean = 0, double deviation = 1, Generator* generator = nullptr);
void constant_(const Tensor& x, double value);
/// After Glorot and Bengio, by fan-in and fan-out: weights are [out, in, window...].
void xavier_uniform_(const Tensor& x, double gain = 1, Generator* generator = nullptr);
void xavier_normal_(const Tensor& x, double gain = 1, Generator* generator = nullptr);
/// After He et al., by fan-in; `a` is the slope below 0 of the leaky relu behind it.
void kaiming_uniform_(const Tensor& x, double a = 0, Generator* generator = nullptr);
void kaiming_normal_(const Tensor& x, double a = 0, Generator* generator = nullptr);
}  // namespace init

}  // namespace tenon::nn
