// A run as a file of weights, and back.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/fail.h"
#include "train/trainer.h"

namespace tenon::train {
namespace {

constexpr std::string_view kFormat = "tenon train 1";
// A slash: parameters of built-in models have none, and those of files with the same name are refused.
constexpr const char* kLossesName = "tenon/losses";
constexpr const char* kScoresName = "tenon/scores";  // [n, 3]: step, loss, accuracy or NaN

Array column(const std::vector<double>& values) {
  return Array::from<double>({static_cast<int64_t>(values.size())}, values);
}

std::string shape_text(const Array& array) {
  return Shape(array.dtype(), {array.dims().begin(), array.dims().end()}).to_string();
}

const std::string& text_of(const SafeTensors& checkpoint, const std::string& name, const std::string& file) {
  const auto found = checkpoint.metadata.find(name);
  if (found == checkpoint.metadata.end()) {
    fail("{}: no checkpoint of a training run: `{}` is missing", file, name);
  }
  return found->second;
}

const Array& array_of(const SafeTensors& checkpoint, const std::string& name, const std::string& file) {
  const Array* found = checkpoint.find(name);
  if (found == nullptr) {
    fail("{}: a checkpoint of another model: it has no `{}`", file, name);
  }
  return *found;
}

}  // namespace

Settings settings_of(const SafeTensors& checkpoint, const std::string& file) {
  if (text_of(checkpoint, "format", file) != kFormat) {
    fail("{}: a checkpoint of the form `{}`, and this is `{}`", file, text_of(checkpoint, "format", file), kFormat);
  }
  return settings_from(checkpoint.metadata, file);
}

int64_t examples_of(const SafeTensors& checkpoint, const std::string& file) {
  return number_in(checkpoint.metadata, "examples", file);
}

SafeTensors Trainer::checkpoint() const {
  SafeTensors result{.arrays = {}, .metadata = to_texts(settings_)};
  result.metadata["format"] = kFormat;
  result.metadata["model"] = model_.training.graph.name();
  result.metadata["examples"] = std::to_string(data_.count);
  for (size_t i = 0; i < state_.size(); ++i) {
    if (state_names_[i] == kLossesName || state_names_[i] == kScoresName) {
      fail("a parameter called `{}` cannot be kept in a checkpoint, which has another array of this name",
           state_names_[i]);
    }
    result.arrays.emplace_back(state_names_[i], whole_state(i));
  }
  result.arrays.emplace_back(kLossesName, column(losses_));
  std::vector<double> rows;
  for (const ScoredStep& each : scores_) {
    rows.insert(rows.end(),
                {static_cast<double>(each.step), each.score.loss, each.score.accuracy.value_or(std::nan(""))});
  }
  result.arrays.emplace_back(kScoresName, column(rows).reshaped({std::ssize(scores_), 3}));
  return result;
}

void Trainer::resume(const SafeTensors& checkpoint, const std::string& file) {
  const std::string& model = text_of(checkpoint, "model", file);
  if (model != model_.training.graph.name()) {
    fail("{}: a checkpoint of another model: of `{}`, and this is `{}`", file, model, model_.training.graph.name());
  }
  if (const int64_t count = examples_of(checkpoint, file); count != data_.count) {
    fail("{}: a checkpoint of a run on {} examples, and here are {}", file, count, data_.count);
  }
  std::vector<Array> state;
  for (size_t i = 0; i < state_.size(); ++i) {
    const Array& found = array_of(checkpoint, state_names_[i], file);
    const Array here = whole_state(i);
    if (found.dtype() != here.dtype() || found.dims() != here.dims()) {
      fail("{}: a checkpoint of another model: `{}` is {} there and {} here", file, state_names_[i], shape_text(found),
           shape_text(here));
    }
    state.push_back(kept(i, found));
  }
  const Array& losses = array_of(checkpoint, kLossesName, file);
  const Array& scores = array_of(checkpoint, kScoresName, file);
  const auto steps = static_cast<int64_t>(state.back().at(0));  // the optimiser's count is the last of the states
  if (losses.dtype() != Dtype::f64 || losses.rank() != 1 || losses.size() != steps || scores.dtype() != Dtype::f64 ||
      scores.rank() != 2 || scores.dims()[1] != 3) {
    fail("{}: no checkpoint of a training run: it tells of {} steps and has {} losses", file, steps,
         shape_text(losses));
  }
  state_ = std::move(state);
  losses_.assign(losses.values<double>().begin(), losses.values<double>().end());
  scores_.clear();
  for (int64_t i = 0; i < scores.dims()[0]; ++i) {
    const double accuracy = scores.at(i * 3 + 2);
    scores_.push_back({.step = static_cast<int64_t>(scores.at(i * 3)),
                       .score = {.loss = scores.at(i * 3 + 1),
                                 .accuracy = std::isnan(accuracy) ? std::nullopt : std::optional(accuracy)}});
  }
  epoch_ = steps / steps_per_epoch();
  position_ = steps % steps_per_epoch();
  begin_epoch();
}

}  // namespace tenon::train
