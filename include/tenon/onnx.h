// ONNX models become graphs.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/array.h"
#include "tenon/bindings.h"
#include "tenon/constraint.h"
#include "tenon/error.h"
#include "tenon/graph.h"

namespace tenon {

/// An initializer that became an input.
struct OnnxWeight {
  std::string name;
  Array value;
  bool statistic = false;  ///< a moment that a batch norm was given: not for gradients to change
};

/// What a graph takes for granted of its sizes, because a rank, a branch or a number of trips depends on it.
struct OnnxAssumption {
  Constraint relation;  ///< with the operator and the node; the graph has it among its relations, so runs check it
  std::string reason;   ///< why so, for people: "the file declares `y` with rank 1"
};

struct OnnxOptions {
  /// Values of inputs, by name, that are known now. They become constants: the graph has no such input.
  std::map<std::string, Array> values = {};
  /// Shapes of inputs, by name, in place of the file's: same dtype and rank.
  std::map<std::string, Shape> shapes = {};
  /// Inputs whose elements are sizes, by name: one axis name for each element. Where such a value decides a shape, the
  /// shape has these names; CompileOptions::sizes_from, given the same map, binds them in each run.
  std::map<std::string, std::vector<std::string>> sizes = {};
  /// Sizes that the model will be run at, as far as they are known: of names, and of inputs. They decide conditions
  /// whose branches differ in shape, and which axes a Squeeze without axes drops; the graph then takes such sizes
  /// alone. Without them, what the file declares of ranks decides, else what can be imported.
  Bindings at = {};
  std::map<std::string, std::vector<int64_t>> dims = {};
  /// Gets what was decided so; another import, told other sizes, may decide otherwise.
  std::vector<OnnxAssumption>* assumed = nullptr;
  /// Where given, weights become inputs, the last ones of the graph, in the order of this list: initializers that are
  /// floats of an axis or more, all finite, none of whose values decides a shape. For training: constants of equal
  /// elements are one node, and two weights must not be.
  std::vector<OnnxWeight>* weights = nullptr;
  /// With `weights`: whatever numbers they have, which are not looked at, so that nothing is read of a file that is
  /// mapped. For graphs in parts, of which each process reads its own.
  bool weights_unread = false;
  /// Gets the sizes that the model is usually run at, where its metadata has them (OnnxExportOptions::usual).
  Bindings* usual = nullptr;
  /// Gets nodes that give what an earlier one gives, or an input, which the graph has once, and the names of these.
  std::map<std::string, std::string, std::less<>>* merged = nullptr;
  /// Gets the files beside the model's own that hold its large tensors.
  std::vector<std::filesystem::path>* files = nullptr;
};

/// The value of an input decides a shape, an axis or a number of steps, and OnnxOptions::values does not have it.
class OnnxValueNeeded : public Error {
 public:
  OnnxValueNeeded(std::string input_name, const std::string& message) : Error(message), input_(std::move(input_name)) {}
  const std::string& input() const { return input_; }

 private:
  std::string input_;
};

/// The model of a file, opsets 1 to 28. `dim_param` names are axis names, which unify where they meet; a `dim_param`
/// that is an expression of names (`2*batch`, `past+seq`) is that size where the inputs decide its names, else a name
/// itself; sizes that nobody named get names from the input and the position. Initializers are constants. Arithmetic on
/// shapes is done on extents, so it is no part of the graph. Errors, one line each where the file is at fault: not a
/// model; a part that is malformed or too large; external data outside of the model's folder; operators that are not
/// supported, all of them, with counts and first places. Notes name the node and the file.
Graph import_onnx(const std::filesystem::path& file, const OnnxOptions& options = {});

/// The same from the bytes of a file; external data lies in `folder`, nowhere when that is empty.
Graph import_onnx_bytes(std::string_view bytes, const std::filesystem::path& folder = {},
                        const OnnxOptions& options = {});

/// An input of a model as its file declares it.
struct OnnxPort {
  std::string name;
  Shape shape;  // sizes that nobody named are anonymous

  friend bool operator==(const OnnxPort&, const OnnxPort&) = default;
};
struct OnnxSignature {
  std::vector<OnnxPort> inputs;  // without initializers
  std::vector<std::string> outputs;
  std::set<std::string> operators;  // types of nodes, those of branches and bodies left out
};
/// What a model takes and gives, without importing it.
OnnxSignature onnx_signature(const std::filesystem::path& file);

}  // namespace tenon
