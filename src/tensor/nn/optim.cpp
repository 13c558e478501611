#include "tenon/optim.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <set>

#include "base/fail.h"
#include "tenon/autograd.h"
#include "tensor/realize/realize.h"
#include "tensor/record/record.h"

namespace tenon::optim {

using tensors::Access;
using tensors::read;

namespace {

Tensor zeros_like(const Tensor& parameter) {
  const std::vector<int64_t> dims = parameter.dims();
  return tensor(Array(compute_dtype(parameter.dtype()), dims), std::vector<Axis>(dims.begin(), dims.end()));
}

}  // namespace

Optimizer::Optimizer(std::vector<Tensor> parameters, UpdateRule rule, double learning_rate)
    : parameters_(std::move(parameters)), rule_(std::move(rule)) {
  std::set<const void*> seen;
  for (const Tensor& parameter : parameters_) {
    if (!seen.insert(Access::handle(parameter).cell.get()).second) {
      fail("{}: a parameter, {}, is there twice", rule_.name, parameter.shape().to_string());
    }
    std::vector<Tensor>& states = states_.emplace_back();
    for (size_t i = 0; i < rule_.states.size(); ++i) {
      states.push_back(zeros_like(parameter));
    }
  }
  counts_.resize(parameters_.size(), 0);
  set_learning_rate(learning_rate);
}

void Optimizer::set_learning_rate(double rate) {
  if (!(rate >= 0)) {
    fail("{}: the learning rate is {}", rule_.name, rate);
  }
  rate_ = rate;
  rate_tensor_ = Tensor::number(rate, Dtype::f64);
}

void Optimizer::zero_grad() {
  for (Tensor& parameter : parameters_) {
    parameter.set_grad({});
  }
}

void Optimizer::step(std::source_location where) {
  if (std::ranges::any_of(parameters_, [](const Tensor& p) { return Access::handle(p).cell->written; })) {
    tensors::realize_tensors(parameters_, "earlier step", where);
  }
  const NoGrad none;
  moved_.assign(parameters_.size(), false);
  std::map<int64_t, Tensor> counts;  // one leaf for all parameters that have made as many steps
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const Tensor& parameter = parameters_[i];
    const Tensor gradient = parameter.grad();
    if (!gradient.defined()) {
      continue;
    }
    Tensor& count = counts[counts_[i]];
    if (!count.defined()) {
      count = tensor(Array::from<int64_t>({}, {counts_[i]}));
    }
    ++counts_[i];
    moved_[i] = true;
    std::vector<Tensor> operands{parameter, gradient, count, rate_tensor_};
    operands.insert(operands.end(), states_[i].begin(), states_[i].end());
    const std::vector<Tensor> next = tensors::record(operands, [&](tensors::Sizes sizes) {
      OptimizerStep step{.parameter = read(parameter, sizes),
                         .gradient = read(gradient, sizes),
                         .states = {},
                         .count = read(count, sizes),
                         .learning_rate = read(rate_tensor_, sizes)};
      for (const Tensor& state : states_[i]) {
        step.states.push_back(read(state, sizes));
      }
      OptimizerResult result = rule_.update(step);
      std::vector<Value> values{result.parameter};
      values.insert(values.end(), result.states.begin(), result.states.end());
      return values;
    });
    tensors::write(parameter, next[0]);
    for (size_t k = 0; k < states_[i].size(); ++k) {
      tensors::write(states_[i][k], next[k + 1]);
    }
  }
  ++steps_;
}

bool Optimizer::undo_step() {
  bool undone = false;
  bool kept = false;
  for (size_t i = 0; i < moved_.size(); ++i) {
    if (!moved_[i]) {
      continue;
    }
    if (!Access::handle(parameters_[i]).cell->written) {
      kept = true;
      continue;
    }
    tensors::discard_pending(parameters_[i]);
    std::ranges::for_each(states_[i], tensors::discard_pending);
    --counts_[i];
    undone = true;
  }
  moved_.clear();
  steps_ -= undone && !kept ? 1 : 0;
  return undone;
}

SafeTensors Optimizer::state(std::source_location where) const {
  std::vector<Tensor> all;
  SafeTensors result{.arrays = {}, .metadata = {{"optimizer", rule_.name}}};
  for (size_t i = 0; i < states_.size(); ++i) {
    for (size_t k = 0; k < states_[i].size(); ++k) {
      all.push_back(states_[i][k]);
      result.arrays.emplace_back(fmt::format("{}.{}", i, rule_.states[k]), Array());
    }
  }
  const std::vector<Array> arrays = tensors::realize_tensors(all, "saving", where);
  for (size_t i = 0; i < arrays.size(); ++i) {
    result.arrays[i].second = arrays[i];
  }
  result.arrays.emplace_back("step", Array::from<int64_t>({}, {steps_}));
  result.arrays.emplace_back("steps", Array::from<int64_t>({std::ssize(counts_)}, counts_));
  return result;
}

void Optimizer::load_state(const SafeTensors& state) {
  const auto need = [&](const std::string& name, Dtype dtype, const std::vector<int64_t>& dims) -> const Array& {
    const Array* found = state.find(name);
    if (found == nullptr || found->dtype() != dtype || found->dims() != dims) {
      fail("the state of {}: `{}` must be {}{}", rule_.name, name, Shape(dtype, {dims.begin(), dims.end()}).to_string(),
           found == nullptr
               ? ", and is not there"
               : fmt::format(", and is {}",
                             Shape(found->dtype(), {found->dims().begin(), found->dims().end()}).to_string()));
    }
    return *found;
  };
  if (const auto made_by = state.metadata.find("optimizer");
      made_by != state.metadata.end() && made_by->second != rule_.name) {
    fail("the state is one of {}, and this is {}", made_by->second, rule_.name);
  }
  const Array& step = need("step", Dtype::i64, {});
  const Array& steps = need("steps", Dtype::i64, {std::ssize(counts_)});
  std::vector<std::vector<Tensor>> states(states_.size());
  for (size_t i = 0; i < states_.size(); ++i) {
    for (size_t k = 0; k < states_[i].size(); ++k) {
      const std::vector<int64_t> dims = states_[i][k].dims();
      states[i].push_back(tensor(need(fmt::format("{}.{}", i, rule_.states[k]), states_[i][k].dtype(), dims),
                                 std::vector<Axis>(dims.begin(), dims.end())));
    }
  }
  states_ = std::move(states);
  moved_.clear();
  counts_.assign(steps.values<int64_t>().begin(), steps.values<int64_t>().end());
  steps_ = static_cast<int64_t>(step.at(0));
}

SGD::SGD(std::vector<Tensor> parameters, const SgdOptions& options)
    : Optimizer(std::move(parameters), sgd(options), options.learning_rate) {}
Adam::Adam(std::vector<Tensor> parameters, const AdamOptions& options)
    : Optimizer(std::move(parameters), adam(options), options.learning_rate) {}
AdamW::AdamW(std::vector<Tensor> parameters, const AdamWOptions& options)
    : Optimizer(std::move(parameters), adamw(options), options.learning_rate) {}

Schedule constant_rate(double rate) {
  return [=](int64_t) { return rate; };
}
Schedule step_decay(double rate, int64_t every, double factor) {
  if (every < 1) {
    fail("step_decay: every {} steps; must be at least 1", every);
  }
  return [=](int64_t step) {
    const int64_t decays = step / every;
    return rate * std::pow(factor, static_cast<double>(decays));
  };
}
Schedule exponential_decay(double rate, double factor) {
  return [=](int64_t step) { return rate * std::pow(factor, static_cast<double>(step)); };
}
Schedule cosine(double rate, int64_t steps, double least) {
  if (steps < 1) {
    fail("cosine: {} steps; must be at least 1", steps);
  }
  return [=](int64_t step) {
    const double part = std::min(1.0, static_cast<double>(step) / static_cast<double>(steps));
    return least + (rate - least) * (1 + std::cos(std::numbers::pi * part)) / 2;
  };
}
Schedule with_warmup(int64_t steps, Schedule schedule) {
  return [steps, schedule = std::move(schedule)](int64_t step) {
    const double full = schedule(step);
    return step >= steps ? full : full * static_cast<double>(step + 1) / static_cast<double>(steps);
  };
}

Tensor clip_grad_norm(const std::vector<Tensor>& parameters, double most) {
  const NoGrad none;
  Tensor squares;
  for (const Tensor& parameter : parameters) {
    if (const Tensor g = parameter.grad(); g.defined()) {
      const Tensor sum = g.to(compute_dtype(g.dtype())).reduce_sum_square().to(Dtype::f32);
      squares = squares.defined() ? squares + sum : sum;
    }
  }
  if (!squares.defined()) {
    fail("clip_grad_norm: no parameter has a gradient");
  }
  const Tensor norm = squares.sqrt();
  const Tensor factor = (most / (norm + 1e-6)).min(1);
  for (Tensor parameter : parameters) {
    if (const Tensor g = parameter.grad(); g.defined()) {
      parameter.set_grad(g * factor.to(g.dtype()));
    }
  }
  return norm;
}

void clip_grad_value(const std::vector<Tensor>& parameters, double most) {
  const NoGrad none;
  for (Tensor parameter : parameters) {
    if (const Tensor g = parameter.grad(); g.defined()) {
      parameter.set_grad(g.max(-most).min(most));
    }
  }
}

}  // namespace tenon::optim
