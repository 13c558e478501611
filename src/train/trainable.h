// Models that can be trained, and which of their parameters are.
#pragma once

#include <string>
#include <vector>

#include "tenon/models.h"
#include "train/objective.h"

namespace tenon::train {

/// Two forms of a model with the same inputs and parameters, and the values that parameters have.
struct Trainable {
  Model training;             // what is differentiated; norms by the batch where the model has such a form
  Model inference;            // what is validated and kept
  std::vector<Array> values;  // of the parameters, in order
};

Trainable trainable(const ModelEntry& entry);

/// A weight of a model from a file.
struct Weight {
  std::string name;
  Array value;
  bool trainable = true;
};
/// Both forms are `graph`, whose last inputs are the weights.
Trainable trainable(const Graph& graph, const std::vector<Weight>& weights);

/// Parameters that match one of the patterns (`*`, `?`, `[abc]`, as of files), and those that no gradient of the
/// objective reaches, are not trained. Errors: a pattern that matches none; nothing left.
void freeze(Trainable& model, const Objective& objective, const std::vector<std::string>& patterns);

}  // namespace tenon::train
