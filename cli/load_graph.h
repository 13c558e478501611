// From a word on the command line to a graph.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tenon/bindings.h"
#include "tenon/graph.h"

namespace tenon::cli {

struct LoadGraphOptions {
  /// One step of Adam on it: the loss is the first output where that is a scalar, else the mean of its squares. The
  /// parameters are the model's; of a file, the float inputs whose sizes are all known.
  bool train = false;
  /// The first weights of a built-in model as constants, as a file has them; else they are inputs.
  bool weights = false;
  /// Where the value of an input decides a shape of an ONNX model, it is part of the import: NAME=FILE.npy of the words
  /// for inputs, or for a scalar the size of that name.
  std::vector<std::string> inputs = {};
  Bindings sizes = {};
};

struct GraphModel {
  Graph graph;
  Bindings typical;  // sizes that it is usually run at: of a built-in model, and of one that was exported
  std::vector<std::string> decided = {};  // inputs whose value became part of the graph
};

/// A built-in model by name, an ONNX file, or the last graph of a text file: what has a `.` or a `/` in it is a file.
/// Errors name what there is.
GraphModel load_model(const std::string& model, const LoadGraphOptions& options = {});

/// The names of axes that the graph's sizes need, in the order of inputs, then of nodes.
std::vector<std::string> axis_names(const Graph& graph);

/// Error: a name that the graph does not have, which `option` gave; it lists those that there are.
void check_names(const Bindings& bindings, const Graph& graph, std::string_view option = "--bind");

/// The text as one word of a shell: in quotes where one needs them.
std::string shell_word(const std::string& text);

/// Error: names, of the graph or `more`, that get no size from `given`, from what is typical or from the graph's
/// constraints; it shows what could be written.
void require_bound(const GraphModel& model, const Bindings& given, const std::vector<std::string>& more = {});

/// `given`, and for the rest of the names what is typical and what the graph's constraints imply.
/// Error: a name that the graph does not have; one that stays unbound.
Bindings complete_bindings(const GraphModel& model, const Bindings& given);

}  // namespace tenon::cli
