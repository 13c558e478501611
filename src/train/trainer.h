// A run of training: steps, scores, and what is needed to go on later.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tenon/executable.h"
#include "tenon/optimizers.h"
#include "tenon/safetensors.h"
#include "train/dataset.h"
#include "train/settings.h"
#include "train/trainable.h"

namespace tenon::train {

struct Score {
  double loss = 0;
  std::optional<double> accuracy = {};  // of labels
};

/// A score, and how many steps had been made.
struct ScoredStep {
  int64_t step = 0;
  Score score;
};

/// The graph of a step, ready to run.
struct StepRun {
  /// Runs it on its inputs. Names of axes that no input determines have the sizes that come with them.
  std::function<std::vector<Array>(std::vector<Array>&& inputs, const Bindings& sizes)> run;
  /// What is kept between steps of a state, which is that input of the step, from the whole of it; and the whole from
  /// what is kept. Not set: states are kept whole.
  std::function<Array(size_t input, const Array& state)> keep = {}, whole = {};
};
/// The graph of a step, and what it was made of.
struct StepGraphs {
  Graph step, loss;
  Graph scored;                      // the output that the loss looks at
  std::vector<std::string> trained;  // inputs of the loss
  UpdateRule rule;
};
/// Makes a step that can run.
using MakeStep = std::function<StepRun(const StepGraphs& graphs)>;

/// One thread at a time. The step is compiled once, for every size of a batch. After an Error of step() the run is of
/// no more use: the memory of the state that it was given may be half written.
class Trainer {
 public:
  /// `model` with what is not trained frozen (freeze()), examples as make_dataset() gives them. Error: too few examples
  /// for what is held out, or for a batch of a fixed size. `make`, where given, says how steps run; else the graph of a
  /// step is compiled.
  Trainer(Trainable model, const Objective& objective, Settings settings, Dataset data, const MakeStep& make = {});

  const Settings& settings() const { return settings_; }
  const Trainable& model() const { return model_; }  ///< without values: see values()
  /// The step where it was compiled here, else null.
  const Executable* program() const { return step_ ? &*step_ : nullptr; }
  int compiles() const { return score_ ? 2 : 1; }
  int64_t trained_on() const { return std::ssize(order_); }
  int64_t held_out() const { return std::ssize(held_out_); }
  /// Of a fixed size, the last examples of an epoch that fill no batch are left for another epoch.
  int64_t steps_per_epoch() const;
  int64_t epoch() const { return epoch_; }               ///< that the next step belongs to, from 0
  int64_t step_in_epoch() const { return position_; }    ///< that the next step is, from 0
  int64_t steps() const { return std::ssize(losses_); }  ///< made so far
  bool is_done() const { return epoch_ >= settings_.epochs; }
  const std::vector<double>& losses() const { return losses_; }  ///< of each step
  const std::vector<ScoredStep>& scores() const { return scores_; }

  /// The next batch: its loss before the weights move.
  double step();
  /// Loss and accuracy on what is held out, by the inference form; kept in scores().
  Score validate();

  /// Weights by name, states of the optimiser as `<weight>.<state>`, `step`, losses and scores; settings as metadata.
  SafeTensors checkpoint() const;
  /// Go on from there. Everything is checked before anything is taken: another model, another number of examples, names
  /// or sizes that do not fit; `file` is what errors name.
  void resume(const SafeTensors& checkpoint, const std::string& file);

  /// The parameters' values as they are now, and the inference form with them as constants.
  std::vector<Array> values() const;
  Graph trained() const;

  // Where states are kept in parts, all ranks call values(), trained(), validate() and checkpoint() together.

 private:
  void begin_epoch();
  Array kept(size_t state, Array whole) const;
  Array whole_state(size_t state) const;

  Trainable model_;
  Objective objective_;
  Settings settings_;
  Dataset data_;
  std::optional<Executable> step_;
  StepRun step_run_;
  std::optional<Executable> score_;
  std::vector<std::string> state_names_;
  size_t first_state_ = 0;                    // the input of the step that is the first state
  std::vector<Array> state_;                  // parameters, then states of the optimiser and the count of steps
  std::vector<int> taken_over_;               // output i becomes this state; -1: none
  std::vector<bool> updated_;                 // whether the step has a new one of state i
  std::vector<int64_t> examples_, held_out_;  // positions in the data
  std::vector<int64_t> order_;                // examples_, as this epoch has them
  int64_t epoch_ = 0;
  int64_t position_ = 0;
  std::vector<double> losses_;
  std::vector<ScoredStep> scores_;
};

/// The settings of a checkpoint, and the number of its examples. Error: no checkpoint of a training run.
Settings settings_of(const SafeTensors& checkpoint, const std::string& file);
int64_t examples_of(const SafeTensors& checkpoint, const std::string& file);

}  // namespace tenon::train
