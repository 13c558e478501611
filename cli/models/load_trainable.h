// From a word on the command line to something that can be trained.
#pragma once

#include <string>

#include "cli/models/load_graph.h"
#include "train/settings.h"
#include "train/trainable.h"

namespace tenon::cli {

struct LoadedTrainable {
  train::Trainable model;
  Bindings typical;
  std::vector<std::string> decided = {};  // as of GraphModel
};

/// A built-in model, in its training form where it has one, or an ONNX file. Graph text has no weights: an Error.
LoadedTrainable load_trainable(const std::string& model, const LoadGraphOptions& options);

/// One step of training as a graph: loss, gradients and optimiser. Graph text is trained by its float inputs whose
/// sizes are all known and that no output takes over; an output that is a scalar is the loss itself where none is asked
/// for.
GraphModel load_training_step(const std::string& model, const train::ObjectiveOptions& objective,
                              const std::string& optimizer);

}  // namespace tenon::cli
