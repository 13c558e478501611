// From a word on the command line to a graph.
#pragma once

#include <string>

#include "tenon/graph.h"

namespace tenon {

/// A built-in model by name, or the last graph of a text file: what has a `.` or a `/` in it is a file. Errors name
/// what there is.
/// With `train`, one step of Adam on it: the loss is the first output where that is a scalar, else the mean of its
/// squares. The parameters are the model's; of a file, the float inputs whose sizes are all known.
Graph load_graph(const std::string& model, bool train);

}  // namespace tenon
