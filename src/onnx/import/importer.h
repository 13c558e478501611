// From a model's messages to a graph.
#pragma once

#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "onnx/import/item.h"
#include "onnx/import/known.h"
#include "onnx/proto.h"
#include "onnx/tensor_data.h"
#include "tenon/onnx.h"

namespace tenon::importer {

/// The names of sizes (`dim_param`) of a graph's inputs that are single words.
std::set<std::string> plain_names(const proto::GraphProto& graph);

/// The shape of an input of a graph as the file declares it. A `dim_param` that is an expression is one where sizes of
/// inputs decide all of its names; `names` are those that some size has alone.
Shape declared_shape(const proto::ValueInfoProto& input, const std::set<std::string>& names);

/// Walks a model node by node. One instance imports one model once. What operators need beyond their node is here.
class Importer {
 public:
  /// `constants` are initializers that stay constants though weights are asked for.
  Importer(const proto::ModelProto& model, std::filesystem::path folder, const OnnxOptions& options,
           const std::set<std::string>& constants = {});

  Graph run();

  /// A weight among them is a moment of a batch norm.
  void tell_statistic(const Value& value);

  /// The outputs of a body (of If, Loop, Scan) for these inputs. Names of the graphs around it are visible in it.
  Items run_body(const proto::GraphProto& body, const Items& inputs);

  KnownValues& known() { return known_; }
  ExternalFiles& files() { return files_; }
  /// What must hold between sizes, beyond what the builders ask for.
  void add_relation(Constraint relation) { relations_.push_back(std::move(relation)); }
  /// Whether this is the name of an input whose value could have been given.
  bool is_graph_input(const std::string& name) const { return graph_inputs_.contains(name); }

 private:
  using Scope = std::unordered_map<std::string, Item>;
  using Opsets = std::map<std::string, int, std::less<>>;

  void read_inputs(const proto::GraphProto& graph, std::vector<Value>& inputs);
  void tell_sizes(const Value& input, const std::vector<std::string>& names);
  void read_initializers(const proto::GraphProto& graph, bool is_main);
  void run_nodes(const google::protobuf::RepeatedPtrField<proto::NodeProto>& nodes);
  void run_node(const proto::NodeProto& node);
  Items run_function(const proto::FunctionProto& function, const proto::NodeProto& node, const Items& operands);
  Item find(const std::string& name) const;
  Items find_all(const google::protobuf::RepeatedPtrField<std::string>& names) const;
  void define(const std::string& name, Item item);

  const proto::ModelProto& model_;
  const OnnxOptions& options_;
  std::set<std::string> constants_;
  ExternalFiles files_;
  KnownValues known_;
  Opsets opsets_;
  std::vector<Scope> scopes_;
  size_t visible_from_ = 0;  // scopes below belong to callers of a function
  std::map<std::string, bool, std::less<>> graph_inputs_;
  std::vector<Constraint> relations_;
  std::vector<Value> weights_;  // the inputs that OnnxOptions::weights tells of
  int depth_ = 0;
  int64_t function_nodes_ = 0;
};

}  // namespace tenon::importer
