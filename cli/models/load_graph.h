// From a word on the command line to a graph.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cli/print/json.h"
#include "tenon/bindings.h"
#include "tenon/graph.h"
#include "tenon/models.h"
#include "tenon/onnx.h"
#include "train/trainable.h"

namespace tenon::cli {

struct LoadGraphOptions {
  /// The graph has the name of its file, by which people know it; else that which is in the file.
  bool named_by_file = true;
  /// The first weights of a built-in model as constants, as a file has them; else they are inputs.
  bool weights = false;
  /// Where the value of an input decides a shape of an ONNX model, it is part of the import: NAME=FILE.npy of the words
  /// for inputs, or for a scalar the size of that name.
  std::vector<std::string> inputs = {};
  Bindings sizes = {};
  /// The same values by the names of inputs, and sizes of inputs that decide branches, which words go before.
  std::map<std::string, Array> values = {};
  std::map<std::string, std::vector<int64_t>> dims = {};
  /// Where given, it gets the weights of an ONNX model, which are the last inputs of the graph then.
  std::vector<train::Weight>* trained = nullptr;
  bool unread = false;  ///< the numbers of these are not looked at: OnnxOptions::weights_unread
};

struct GraphModel {
  Graph graph;
  Bindings typical;  // sizes that it is usually run at: of a built-in model, and of one that was exported
  std::vector<std::string> decided = {};                  // inputs whose value became part of the graph
  std::map<std::string, Array> decided_values = {};       // and those values
  std::map<std::string, std::vector<int64_t>> dims = {};  // of inputs from files, for which it was read
  std::map<std::string, Array, std::less<>> values = {};  // of inputs that begin with some: weights that are trained
  std::map<std::string, std::string, std::less<>> merged = {};  // OnnxOptions::merged
  std::vector<OnnxAssumption> assumed = {};                     // of sizes, when an ONNX model was read
  std::vector<std::filesystem::path> files = {};                // beside its own, with its large tensors
};

/// Whether the model was read for such sizes. What they do not say is left to the run.
bool is_read_for(const GraphModel& model, const Bindings& sizes);

/// Whether the word is a file, and not a built-in model: it has a `.` or a `/` in it.
bool is_model_file(std::string_view model);
/// What people know a model by: a built-in one by its name, another by its file's, without folders.
std::string title_of(const std::string& word);
/// The same graph, called `name`.
Graph with_name(const Graph& graph, std::string_view name);
/// The built-in model of that name; an Error that lists what there is.
const ModelEntry& built_in_model(const std::string& name);

/// A built-in model by name, an ONNX file, or the last graph of a text file.
/// Errors name what there is.
GraphModel load_model(const std::string& model, const LoadGraphOptions& options = {});

/// The names of axes that the graph's sizes need, in the order of inputs, then of nodes.
std::vector<std::string> axis_names(const Graph& graph);

/// What the model was read for, a line each.
std::string assumed_text(const GraphModel& model);
Json assumed_json(const GraphModel& model);

/// The text as one word of a shell: in quotes where one needs them.
std::string shell_word(const std::string& text);

}  // namespace tenon::cli
