// From a model's messages to a graph.
#pragma once

#include <exception>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/refused.h"
#include "onnx/import/item.h"
#include "onnx/import/known.h"
#include "onnx/import/size_condition.h"
#include "onnx/proto.h"
#include "onnx/tensor_data.h"
#include "tenon/onnx.h"

namespace tenon::importer {

/// The name of a node for people: its own, or its operator and its first result.
std::string describe(const proto::NodeProto& node);

/// How a comparison of sizes is taken where sizes are not told, and what for.
struct Deciding {
  bool likely = false;         // whether it holds, negated or not, where it is tried first
  std::string because = {};    // why that, where there is a reason
  std::string needed_by = {};  // what runs at other sizes are refused with
};

/// Walks a model node by node. One instance imports one model once. What operators need beyond their node is here.
class Importer {
 public:
  /// `constants` are initializers that stay constants though weights are asked for; `guesses` the first of those that
  /// guesses() tells of.
  Importer(const proto::ModelProto& model, ExternalFiles files, const OnnxOptions& options,
           const std::set<std::string>& constants = {}, std::vector<bool> guesses = {});

  Graph run();

  /// A weight among them is a moment of a batch norm.
  void tell_statistic(const Value& value);

  /// The outputs of a body (of If, Loop, Scan) for these inputs. Names of the graphs around it are visible in it.
  /// `trip`, i64[], tells its runs apart where there are several.
  Items run_body(const proto::GraphProto& body, const Items& inputs, const Value& trip = {});
  /// The trips of the bodies around the node that is read, the outermost first.
  const std::vector<Value>& trips() const { return trips_; }

  /// How a comparison of sizes comes out, where the model has to be one for either: as it does at the sizes of the
  /// options, else as is likely, else the other way; runs at other sizes are then refused. `node` needs it.
  bool decide(const SizeCondition& condition, const proto::NodeProto& node, const Deciding& how = {});
  /// A relation that holds at the sizes that this import is for, and need not at others.
  void assume(Constraint relation, std::string reason);
  /// What the graph or body that is read declares of one of its values; null where it says nothing of its shape.
  const proto::TensorShapeProto* declared(const std::string& name) const;
  /// The number that an extent is at the sizes of the options; nothing when those do not tell.
  std::optional<int64_t> told(const Extent& extent) const { return number_at(extent, sizes_); }
  /// How many branches were chosen by sizes so far.
  size_t branch_count() const;
  /// What was guessed, in order: whether otherwise than what is likely.
  const std::vector<bool>& guesses() const { return guesses_; }

  /// `attempt()`; nothing where it is refused, which is forgotten, as is all that it asked of sizes. `refusal` gets the
  /// exception, for who rethrows it where nothing else serves.
  template <class Attempt>
  auto attempted(Attempt&& attempt, std::exception_ptr* refusal = nullptr) -> std::optional<decltype(attempt())> {
    const Mark before = mark();
    try {
      return attempt();
    } catch (const Refused&) {
      if (refusal != nullptr) {
        *refusal = std::current_exception();
      }
      rewind(before);
      return {};
    }
  }
  /// What `attempt()` gives, as if it had not been run.
  template <class Attempt>
  auto probed(Attempt&& attempt) -> decltype(attempt()) {
    const Mark before = mark();
    auto result = attempt();
    rewind(before);
    return result;
  }

  KnownValues& known() { return known_; }
  ExternalFiles& files() { return files_; }
  /// What must hold between sizes, beyond what the builders ask for.
  void add_relation(Constraint relation) { relations_.push_back(std::move(relation)); }
  /// The last line of the Error that the node which is read is about to give.
  void advise(std::string line) { advice_ = std::move(line); }
  /// Whether this is the name of an input whose value could have been given.
  bool is_graph_input(const std::string& name) const { return graph_inputs_.contains(name); }

 private:
  using Scope = std::unordered_map<std::string, Item>;
  using Opsets = std::map<std::string, int, std::less<>>;

  /// A comparison that is not negated, and how it came out.
  struct Decided {
    SizeCondition condition;
    bool holds = false;
    bool is_branch = true;
  };

  /// Where an import stands.
  struct Mark {
    size_t scopes, visible_from, relations, decided, assumed, guessed, trips, graphs;
    int depth;
    Opsets opsets;
  };
  Mark mark() const;
  void rewind(const Mark& to);

  void read_inputs(const proto::GraphProto& graph, std::vector<Value>& inputs);
  void read_sizes(const std::vector<Value>& inputs);
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
  Bindings sizes_;  // that the model will be run at
  std::vector<Decided> decided_;
  std::vector<OnnxAssumption> assumed_;
  std::vector<const proto::GraphProto*> graphs_;  // that are read, the innermost last; null for a function
  std::vector<bool> guesses_;
  size_t guessed_ = 0;
  std::vector<Value> weights_;  // the inputs that OnnxOptions::weights tells of
  std::vector<Value> trips_;
  std::string advice_;
  int depth_ = 0;
  int64_t function_nodes_ = 0;
};

}  // namespace tenon::importer
