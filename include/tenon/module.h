// What layers and networks are: parameters, buffers and other modules, by name, as PyTorch's torch.nn.Module has them.
//
//   struct Net : nn::Module {
//     nn::Linear hidden = child("hidden", nn::Linear(784, 128));
//     nn::Linear out = child("out", nn::Linear(128, 10));
//     Tensor operator()(const Tensor& x) const { return out(relu(hidden(x))); }
//   };
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <source_location>
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
  void train(bool training = true);
  void eval() { train(false); }
  bool is_training() const;
  /// Give parameters up, or take them up again: whether gradients are wanted by them.
  void requires_grad(bool wanted);

  /// All parameters and buffers as arrays, computed by one program; and the way back, which checks every name and size
  /// before it writes any. With `strict`, both sides must have the same names.
  SafeTensors state(std::source_location where = std::source_location::current()) const;
  void load_state(const SafeTensors& state, bool strict = true);
  void save(const std::filesystem::path& file, std::source_location where = std::source_location::current()) const;
  void load(const std::filesystem::path& file, bool strict = true);

  /// While it lives, the module and those inside of it are as eval() makes them; then as each was before.
  class EvalScope {
   public:
    explicit EvalScope(const Module& module);
    ~EvalScope();
    EvalScope(const EvalScope&) = delete;
    EvalScope& operator=(const EvalScope&) = delete;

   private:
    struct Modes;
    std::unique_ptr<Modes> modes_;
  };

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

}  // namespace tenon::nn
