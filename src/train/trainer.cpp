#include "train/trainer.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>
#include <utility>

#include "base/fail.h"
#include "passes/autodiff/autodiff.h"
#include "tenon/compile.h"
#include "tenon/optimizers.h"

namespace tenon::train {
namespace {

constexpr uint64_t kHoldOutRound = ~uint64_t{0};  // no epoch has this number

}  // namespace

Trainer::Trainer(Trainable model, const Objective& objective, Settings settings, Dataset data, const MakeStep& make)
    : model_(std::move(model)), objective_(objective), settings_(std::move(settings)), data_(std::move(data)) {
  if (data_.fixed_batch) {
    settings_.batch = *data_.fixed_batch;
  }
  const auto wanted = static_cast<int64_t>(std::llround(settings_.held_out * static_cast<double>(data_.count)));
  const int64_t apart = settings_.held_out > 0 ? std::max<int64_t>(1, wanted) : 0;
  const int64_t least = data_.fixed_batch.value_or(1);
  if (data_.count - apart < least || (apart > 0 && apart < least)) {
    fail("there are {} examples, of which {} are held out: batches of {} cannot be made of both", data_.count, apart,
         least);
  }
  const std::vector<int64_t> all = shuffled(data_.count, settings_.seed, kHoldOutRound);
  held_out_.assign(all.end() - apart, all.end());
  examples_.assign(all.begin(), all.end() - apart);
  order_ = examples_;

  std::vector<std::string> trained;
  for (const Parameter& parameter : model_.training.parameters) {
    state_names_.push_back(parameter.name);
    if (parameter.trainable) {
      trained.push_back(parameter.name);
    }
  }
  const Graph loss = loss_graph(model_.training, objective_);
  const UpdateRule rule = find_optimizer(settings_.optimizer).make(settings_.rate);
  const Graph step = training_step(loss, rule, {.parameters = trained, .learning_rate_input = true});
  state_ = std::exchange(model_.values, {});             // no second holder: they are updated in place
  const size_t first = model_.training.data_inputs + 1;  // of the state, behind data and target
  for (size_t i = first + state_.size(); i + 1 < step.inputs().size(); ++i) {
    state_names_.push_back(passes::name_of(step.inputs()[i]));
    state_.emplace_back(step.inputs()[i].dtype(), step.inputs()[i].shape().dims());
  }
  updated_.resize(state_.size());
  for (const Output& output : step.outputs()) {
    taken_over_.push_back(output.aliases < 0 ? -1 : output.aliases - static_cast<int>(first));
    if (output.aliases >= 0) {
      updated_[static_cast<size_t>(taken_over_.back())] = true;
    }
  }
  if (make) {
    const Graph& whole = model_.training.graph;
    const Output& output = whole.outputs()[objective_.output];
    step_run_ = make({.step = step,
                      .loss = loss,
                      .scored = Graph(whole.name(), whole.inputs(), {{output.name, output.value}}, whole.relations()),
                      .trained = trained,
                      .rule = rule});
  } else {
    step_ = compile(step);
    step_run_.run = [program = *step_](std::vector<Array>&& inputs, const Bindings& sizes) {
      return program.run(std::move(inputs), {.bindings = sizes});
    };
  }
  first_state_ = first;
  for (size_t i = 0; i < state_.size(); ++i) {
    state_[i] = kept(i, std::move(state_[i]));
  }
  begin_epoch();
}

Array Trainer::kept(size_t state, Array whole) const {
  return step_run_.keep ? step_run_.keep(first_state_ + state, whole) : std::move(whole);
}

Array Trainer::whole_state(size_t state) const {
  return step_run_.whole ? step_run_.whole(first_state_ + state, state_[state]) : state_[state];
}

int64_t Trainer::steps_per_epoch() const {
  const int64_t whole = trained_on() / settings_.batch;
  return data_.fixed_batch || trained_on() % settings_.batch == 0 ? whole : whole + 1;
}

void Trainer::begin_epoch() {
  const std::vector<int64_t> order = shuffled(trained_on(), settings_.seed, static_cast<uint64_t>(epoch_));
  std::ranges::transform(order, order_.begin(), [&](int64_t i) { return examples_[static_cast<size_t>(i)]; });
}

double Trainer::step() {
  const int64_t begin = position_ * settings_.batch;
  const int64_t end = std::min(begin + settings_.batch, trained_on());
  std::vector<Array> arguments = data_.batch(std::span(order_.begin() + begin, order_.begin() + end));
  for (size_t i = 0; i < state_.size(); ++i) {
    // Given away where the step has a new one, which is then written over the old.
    arguments.push_back(updated_[i] ? std::move(state_[i]) : state_[i]);
  }
  arguments.push_back(Array::scalar(Dtype::f32, settings_.rate));
  std::vector<Array> results = step_run_.run(std::move(arguments), data_.sizes);
  for (size_t i = 0; i < results.size(); ++i) {
    if (taken_over_[i] >= 0) {
      state_[static_cast<size_t>(taken_over_[i])] = std::move(results[i]);
    }
  }
  losses_.push_back(results[0].at(0));
  if (++position_ == steps_per_epoch()) {
    position_ = 0;
    ++epoch_;
    begin_epoch();
  }
  return losses_.back();
}

Score Trainer::validate() {
  if (held_out_.empty()) {
    fail("no examples are held out");
  }
  if (!score_) {
    score_ = compile(score_graph(model_.inference, objective_));
  }
  Score total;
  double right = 0;
  int64_t labels = 0;
  int64_t seen = 0;
  const std::vector<Array> weights = values();
  const auto all = std::span<const int64_t>(held_out_);
  for (int64_t begin = 0; begin < held_out(); begin += settings_.batch) {
    const int64_t size = std::min(settings_.batch, held_out() - begin);
    if (data_.fixed_batch && size < settings_.batch) {
      break;
    }
    std::vector<Array> arguments = data_.batch(all.subspan(static_cast<size_t>(begin), static_cast<size_t>(size)));
    labels += arguments.back().size();
    std::ranges::copy(weights, std::back_inserter(arguments));
    const std::vector<Array> results = score_->run(arguments, {.bindings = data_.sizes});
    total.loss += results[0].at(0) * static_cast<double>(size);
    right += results.size() > 1 ? results[1].at(0) : 0;
    seen += size;
  }
  total.loss /= static_cast<double>(seen);
  if (objective_.kind->labels && labels > 0) {
    total.accuracy = right / static_cast<double>(labels);
  }
  scores_.push_back({.step = steps(), .score = total});
  return total;
}

std::vector<Array> Trainer::values() const {
  std::vector<Array> result;
  for (size_t i = 0; i < model_.training.parameters.size(); ++i) {
    result.push_back(whole_state(i));
  }
  return result;
}

Graph Trainer::trained() const { return with_weights(model_.inference, values()); }

}  // namespace tenon::train
