// What a model is run on: arrays from files, or made up.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/models/model_ports.h"
#include "tenon/array.h"

namespace tenon::cli {

struct NamedArray {
  std::string name;
  Array value;
  std::string source;  // a path, "random", "zeros" or "ones"
};

struct PreparedInputs {
  std::vector<NamedArray> inputs;  // one for each input of the graph, in order
  Bindings bindings;               // of every name

  std::vector<Array> arrays() const;
};

/// `words` are NAME=SOURCE: a .npy file, `random`, `zeros` or `ones`; one of these three alone is for all that have no
/// word of their own. Files bind axes by their sizes, `bindings` and what is typical the rest. Random numbers are the
/// same in every run: floats in [-1, 1); integers that are positions of something (words of a vocabulary) lie inside of
/// it, other ones are small; booleans are mostly true, and so is the first of each row, which makes sense as a mask.
/// Errors: a name that no input has, a source that is none, a file whose type or sizes do not fit, unbound axes, inputs
/// beyond the machine's memory. `before`, where given, is called with all sizes before any input is made up, which
/// takes long where they are large; when it gives false, none is.
using BeforeInputs = std::function<bool(const Bindings& sizes)>;
PreparedInputs prepare_inputs(const ModelPorts& model, const Bindings& bindings, const std::vector<std::string>& words,
                              const BeforeInputs& before = {});
inline PreparedInputs prepare_inputs(const GraphModel& model, const Bindings& bindings,
                                     const std::vector<std::string>& words) {
  return prepare_inputs(ports_of(model), bindings, words);
}

/// NAME=SOURCE of an option, where either may have a `=` in it: NAME is the longest of `names`. Errors say which word.
struct SourceWord {
  std::string name, source;
};
SourceWord parse_source(std::string_view option, const std::string& word, const std::vector<std::string>& names);

/// A .npy file in the dtype of what is called `name`: bf16, which NumPy has not, comes as f32. Error: another dtype.
Array read_npy_for(const std::string& name, Dtype wanted, const std::string& path);

/// Numbers as above for an input called `name`; integers below `limit`.
Array random_array(const std::string& name, Dtype dtype, const std::vector<int64_t>& dims, int64_t limit);

/// NAME=FILE.npy words for outputs, as what `tenon check` expects. An empty array stands for an output without a word.
std::vector<NamedArray> read_expected(const Graph& graph, const std::vector<std::string>& words);

}  // namespace tenon::cli
