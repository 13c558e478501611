// Writes the nodes of an ONNX graph: names, constants, sizes and types that fit.
#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "ir/node.h"
#include "onnx/proto.h"
#include "tenon/onnx.h"

namespace tenon::exporter {

/// An attribute of an ONNX node.
struct OnnxAttribute {
  std::string name;
  std::variant<int64_t, std::vector<int64_t>, std::string, proto::GraphProto> value;
};
using OnnxAttributes = std::vector<OnnxAttribute>;

/// One model in the making. Tensors are known by their names; every function that gives one has written the nodes that
/// compute it. Sizes are i64 tensors of one element, so that they join to shapes.
class OnnxWriter {
 public:
  /// `weights` are values of inputs, which become initializers. Those, and constants, of `external_from` bytes and more
  /// are left out: external() has them. Error: a weight that is no input, or is not what that is.
  OnnxWriter(const Graph& graph, int opset, const std::vector<OnnxWeight>& weights, size_t external_from);

  /// Operators are those of this opset.
  int opset() const { return opset_; }

  /// Write everything; what no output needs is left out.
  proto::GraphProto write();
  /// The elements of initializers that have none, by name.
  const std::map<std::string, Array>& external() const { return external_; }

  // Nodes.
  std::string node(std::string_view op, const std::vector<std::string>& inputs, const OnnxAttributes& attributes = {});
  std::vector<std::string> nodes(std::string_view op, const std::vector<std::string>& inputs, size_t outputs,
                                 const OnnxAttributes& attributes = {});
  /// An operator whose inputs share one type: cast to one that it takes where it does not take `dtype`, and
  /// the result, unless it is `logical` (bool or positions), cast back. Error when it takes nothing that holds dtype.
  std::string typed(std::string_view op, const std::vector<std::string>& inputs, Dtype dtype,
                    const OnnxAttributes& attributes = {}, bool logical = false);
  std::string cast(const std::string& x, Dtype from, Dtype to);
  /// The dtype in which an operator computes what is meant in `dtype`. Error when it takes nothing that holds dtype.
  Dtype carrier(std::string_view op, Dtype dtype) const;
  /// An Error: `what` cannot be said in this opset; `since`, where there is one, is the first that can.
  [[noreturn]] void refuse(const std::string& what, std::optional<int> since = {}) const;

  // Constants.
  std::string constant(const Array& value);
  std::string scalar(Dtype dtype, double value) { return constant(Array::scalar(dtype, value)); }
  std::string ints(const std::vector<int64_t>& values);

  // Sizes.
  std::string size(const Extent& extent);                 // i64[1]
  std::string scalar_size(const Extent& extent);          // i64[]
  std::string sizes(const std::vector<Extent>& extents);  // i64[n]
  std::string sizes_of(const Shape& shape);               // i64[rank]

  // Views that several operations need.
  std::string reshape(const std::string& x, const std::vector<Extent>& to);
  std::string transpose(const std::string& x, const std::vector<int>& axes);
  std::string unsqueeze(const std::string& x, const std::vector<int64_t>& axes);
  std::string squeeze(const std::string& x, const std::vector<int64_t>& axes);
  std::string slice(const std::string& x, const std::vector<Extent>& starts, const std::vector<Extent>& ends,
                    const std::vector<int64_t>& axes, const std::vector<int64_t>& steps);
  std::string expand(const std::string& x, const Shape& to);
  /// `fill` before and behind x, which has this shape; where an amount is negative, that much is cut off.
  std::string pad(const std::string& x, const Shape& shape, const std::vector<Extent>& low,
                  const std::vector<Extent>& high, const Array& fill);

  // Values of the graph.
  /// The tensor of a value that was written.
  const std::string& tensor(const Value& value) const;
  void define(const Value& value, std::string name);
  /// A tensor that broadcasts to the value by ONNX's rule: smaller than the value itself where that repeats something.
  const std::string& thin(const Value& value) const;
  bool has_thin(const Value& value) const;
  void define_thin(const Value& value, std::string name);

  // Graphs inside of nodes: between open() and close(), nodes go to `body`, which sees what was written before.
  void open(proto::GraphProto& body);
  void close();
  std::string body_input(std::string_view stem, const Shape& shape);
  void body_output(const std::string& tensor, const Shape& shape);
  /// All nodes of a graph whose inputs are defined.
  void write_nodes(const Graph& graph);

 private:
  void name_nodes(proto::GraphProto& graph);
  /// What the nodes of one ONNX graph see beyond what its surroundings do.
  struct Scope {
    proto::GraphProto* graph = nullptr;
    std::unordered_map<Value, std::string> values, thin;
    std::map<std::string, std::vector<std::string>> known;  // the outputs of equal nodes
  };

  std::string fresh(std::string_view stem);
  proto::TensorProto& add_initializer(const std::string& name, const Array& value);
  std::string name_size(const std::string& name);
  std::optional<std::string> size_from_inputs(const std::string& name);
  std::optional<std::string> size_from_data(const std::string& name);

  Graph graph_;
  int opset_;
  std::map<std::string, OnnxWeight> weights_;
  size_t external_from_;
  proto::GraphProto main_;
  std::vector<Scope> scopes_;
  std::set<std::string, std::less<>> used_;
  std::map<std::string, std::string> constants_;  // small ones by content
  std::map<std::string, Array> external_;
  std::set<std::string> solving_;                    // names whose size is being sought
  std::map<std::string, std::string> extra_inputs_;  // names that no shape determines
  std::set<std::string, std::less<>> node_names_;
  std::string place_;
};

/// Type and named sizes of a tensor.
void describe(proto::ValueInfoProto& info, const std::string& name, const Shape& shape);

// One for each kind: write the node and give the tensors of its outputs.
using OnnxTensors = std::vector<std::string>;
OnnxTensors write_onnx(const Input& kind, const Node& node, OnnxWriter& to);
OnnxTensors write_onnx(const Constant& kind, const Node& node, OnnxWriter& to);
OnnxTensors write_onnx(const Iota& kind, const Node& node, OnnxWriter& to);
OnnxTensors write_onnx(const Random& kind, const Node& node, OnnxWriter& to);
OnnxTensors write_onnx(const Map& kind, const Node& node, OnnxWriter& to);
OnnxTensors write_onnx(const Reduce& kind, const Node& node, OnnxWriter& to);
OnnxTensors write_onnx(const Window& kind, const Node& node, OnnxWriter& to);
OnnxTensors write_onnx(const Contract& kind, const Node& node, OnnxWriter& to);
OnnxTensors write_onnx(const Conv& kind, const Node& node, OnnxWriter& to);
OnnxTensors write_onnx(const Reshape& kind, const Node& node, OnnxWriter& to);
OnnxTensors write_onnx(const Transpose& kind, const Node& node, OnnxWriter& to);
OnnxTensors write_onnx(const Broadcast& kind, const Node& node, OnnxWriter& to);
OnnxTensors write_onnx(const Slice& kind, const Node& node, OnnxWriter& to);
OnnxTensors write_onnx(const Pad& kind, const Node& node, OnnxWriter& to);
OnnxTensors write_onnx(const Flip& kind, const Node& node, OnnxWriter& to);
OnnxTensors write_onnx(const Concat& kind, const Node& node, OnnxWriter& to);
OnnxTensors write_onnx(const Gather& kind, const Node& node, OnnxWriter& to);
OnnxTensors write_onnx(const Scatter& kind, const Node& node, OnnxWriter& to);
OnnxTensors write_onnx(const Update& kind, const Node& node, OnnxWriter& to);
OnnxTensors write_onnx(const Sort& kind, const Node& node, OnnxWriter& to);
OnnxTensors write_onnx(const Scan& kind, const Node& node, OnnxWriter& to);
OnnxTensors write_onnx(const Positions& kind, const Node& node, OnnxWriter& to);
OnnxTensors write_onnx(const Call& kind, const Node& node, OnnxWriter& to);
OnnxTensors write_onnx(const If& kind, const Node& node, OnnxWriter& to);
OnnxTensors write_onnx(const Loop& kind, const Node& node, OnnxWriter& to);
OnnxTensors write_onnx(const Barrier& kind, const Node& node, OnnxWriter& to);

/// What changes nothing when it is combined: of sum, product, max and min.
double onnx_identity(ReduceOp op, Dtype dtype);

/// A view of a tensor of shape `from`: what the path of an Update holds.
std::string write_view(const View& view, const std::string& x, const Shape& from, OnnxWriter& to);

}  // namespace tenon::exporter
