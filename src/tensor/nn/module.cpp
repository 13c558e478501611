#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/fail.h"
#include "tenon/autograd.h"
#include "tenon/modules.h"
#include "tensor/realize/realize.h"
#include "tensor/record/cell.h"

namespace tenon::nn {

struct Module::State {
  NamedTensors parameters;
  NamedTensors buffers;
  std::vector<std::pair<std::string, std::shared_ptr<State>>> children;
  bool training = true;

  NamedTensors all(NamedTensors State::* which, const std::string& prefix) const {
    NamedTensors result;
    for (const auto& [name, tensor] : this->*which) {
      result.emplace_back(prefix + name, tensor);
    }
    for (const auto& [name, child] : children) {
      std::ranges::move(child->all(which, prefix + name + "."), std::back_inserter(result));
    }
    return result;
  }

  void set_training(bool on) {
    training = on;
    for (const auto& [name, child] : children) {
      child->set_training(on);
    }
  }

  void list_modes(std::vector<std::pair<State*, bool>>& to) {
    to.emplace_back(this, training);
    for (const auto& [name, child] : children) {
      child->list_modes(to);
    }
  }

  void require_new(const std::string& name) const {
    const auto is_it = [&](const auto& one) { return one.first == name; };
    if (std::ranges::any_of(parameters, is_it) || std::ranges::any_of(buffers, is_it) ||
        std::ranges::any_of(children, is_it)) {
      fail("the module has a `{}` already", name);
    }
  }
};

Module::Module() : state_(std::make_shared<State>()) {}

namespace {

/// Each tensor once, under its first name: modules may share some.
NamedTensors without_duplicates(NamedTensors tensors) {
  std::set<const void*> seen;
  std::erase_if(tensors,
                [&](const auto& one) { return !seen.insert(tensors::Access::handle(one.second).cell.get()).second; });
  return tensors;
}

}  // namespace

NamedTensors Module::named_parameters() const { return without_duplicates(state_->all(&State::parameters, "")); }
NamedTensors Module::named_buffers() const { return without_duplicates(state_->all(&State::buffers, "")); }

std::vector<Tensor> Module::parameters() const {
  std::vector<Tensor> result;
  for (const auto& [name, tensor] : named_parameters()) {
    result.push_back(tensor);
  }
  return result;
}

int64_t Module::parameter_count() const {
  int64_t count = 0;
  for (const Tensor& parameter : parameters()) {
    count += parameter.count();
  }
  return count;
}

void Module::train(bool training) { state_->set_training(training); }
bool Module::is_training() const { return state_->training; }

struct Module::EvalScope::Modes {
  std::shared_ptr<State> state;
  std::vector<std::pair<State*, bool>> before;
};
Module::EvalScope::EvalScope(const Module& module) : modes_(std::make_unique<Modes>()) {
  modes_->state = module.state_;
  modes_->state->list_modes(modes_->before);
  modes_->state->set_training(false);
}
Module::EvalScope::~EvalScope() {
  for (const auto& [state, training] : modes_->before) {
    state->training = training;
  }
}

void Module::requires_grad(bool wanted) {
  for (Tensor parameter : parameters()) {
    parameter.requires_grad_(wanted);
  }
}

Tensor Module::parameter(std::string name, Tensor tensor) {
  state_->require_new(name);
  tensor.requires_grad_();
  state_->parameters.emplace_back(std::move(name), tensor);
  return tensor;
}

Tensor Module::buffer(std::string name, Tensor tensor) {
  state_->require_new(name);
  state_->buffers.emplace_back(std::move(name), tensor);
  return tensor;
}

void Module::add_child(std::string name, const Module& module) {
  state_->require_new(name);
  state_->children.emplace_back(std::move(name), module.state_);
}

NamedTensors Module::everything() const {
  NamedTensors all = state_->all(&State::parameters, "");
  std::ranges::move(state_->all(&State::buffers, ""), std::back_inserter(all));
  return all;
}

SafeTensors Module::state(std::source_location where) const {
  const NamedTensors all = everything();
  std::vector<Tensor> tensors;
  for (const auto& [name, tensor] : all) {
    tensors.push_back(tensor);
  }
  const std::vector<Array> arrays = tensors::realize_tensors(tensors, "saving", where);
  SafeTensors result;
  for (size_t i = 0; i < all.size(); ++i) {
    result.arrays.emplace_back(all[i].first, arrays[i]);
  }
  return result;
}

void Module::load_state(const SafeTensors& state, bool strict) {
  const NamedTensors all = everything();
  std::set<std::string> known;
  std::vector<std::pair<Tensor, const Array*>> found;
  for (const auto& [name, tensor] : all) {
    known.insert(name);
    const Array* array = state.find(name);
    if (array == nullptr) {
      if (strict) {
        fail("the module has `{}`: {}, the state has not", name, tensor.shape().to_string());
      }
      continue;
    }
    if (array->dtype() != tensor.dtype() || array->dims() != tensor.dims()) {
      fail("`{}` is {} in the module, {} in the state", name, tensor.shape().to_string(),
           Shape(array->dtype(), {array->dims().begin(), array->dims().end()}).to_string());
    }
    found.emplace_back(tensor, array);
  }
  for (const auto& [name, array] : state.arrays) {
    if (strict && !known.contains(name)) {
      fail("the state has `{}`, the module has not", name);
    }
  }
  const NoGrad none;
  for (auto& [tensor, array] : found) {
    std::vector<Axis> axes(array->dims().begin(), array->dims().end());
    tensor.copy_(tenon::tensor(*array, axes));
  }
}

void Module::save(const std::filesystem::path& file, std::source_location where) const {
  save_safetensors(file, state(where));
}

void Module::load(const std::filesystem::path& file, bool strict) {
  try {
    load_state(load_safetensors(file), strict);
  } catch (Error& error) {
    error.note(fmt::format("while loading {}", file.string()));
    throw;
  }
}

}  // namespace tenon::nn
