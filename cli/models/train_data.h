// What a model is trained on: .npy files, or made up for built-in models.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/models/load_trainable.h"
#include "train/dataset.h"

namespace tenon::cli {

struct TrainingFiles {
  std::vector<std::string> inputs;    // NAME=FILE.npy; without NAME= where the model has one input
  std::optional<std::string> target;  // a .npy file

  bool empty() const { return inputs.empty() && !target; }
};

/// The loss that fits a target where the user names none: integers are labels, other numbers are compared.
std::string usual_loss(const std::string& target);

/// The files as examples. Errors: an input without a file, one of another dtype or other sizes, a target of another
/// length than the inputs.
train::Dataset read_dataset(const LoadedTrainable& loaded, const train::Objective& objective,
                            const TrainingFiles& files, const Bindings& sizes);

/// Examples that can be learned: each belongs to a group, and its numbers are the group's with noise; a label is the
/// number of the group, or where labels lie beside words, the word that follows. The same for the same seed. `count`
/// of them, or as many as make sense for the model.
train::Dataset make_up_dataset(const LoadedTrainable& loaded, const train::Objective& objective, const Bindings& sizes,
                               std::optional<int64_t> count, uint64_t seed);

}  // namespace tenon::cli
