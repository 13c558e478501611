// Graphs to text.
#include <algorithm>
#include <unordered_map>

#include "base/fail.h"
#include "ir/walk.h"
#include "shape/extent_names.h"
#include "tenon/text.h"
#include "text/field_print.h"
#include "text/graph_table.h"
#include "text/token.h"

namespace tenon {
namespace {

using algebra::quoted_name;
using text::GraphLabels;

bool is_chosen_name(const Extent& extent) {
  const std::optional<std::string> name = extent.as_name();
  return name && !is_generated_name(*name);
}

/// Whether two names that somebody chose meet in a node, which only `names unify` lets them do.
bool needs_unify(const Graph& graph) {
  for (const Node* node : graph.nodes()) {
    for (const Constraint& constraint : node->constraints) {
      if (constraint.kind == Constraint::Kind::equal && is_chosen_name(constraint.lhs) &&
          is_chosen_name(constraint.rhs)) {
        return true;
      }
    }
  }
  return false;
}

class GraphPrinter {
 public:
  GraphPrinter(const Graph& graph, const GraphLabels& labels, const PrintOptions& options, std::string& out)
      : graph_(graph), labels_(labels), options_(options), out_(out), fields_{out, options, labels} {}

  void print(bool entry) {
    header(entry);
    for (const Node* node : graph_.nodes()) {
      if (node->as<Input>() == nullptr) {
        statement(*node);
      }
    }
    for (const Constraint& relation : graph_.relations()) {
      out_ += "  where " + relation.to_string() + "\n";
    }
    returns();
    out_ += "}\n";
  }

 private:
  /// Print `each` of a range with commas between.
  template <class Range, class Each>
  void join(const Range& range, Each each) {
    bool first = true;
    for (const auto& item : range) {
      out_ += first ? "" : ", ";
      first = false;
      each(item);
    }
  }

  void header(bool entry) {
    const std::string& label = labels_.of(graph_);
    out_ += entry ? "entry graph " : "graph ";
    out_ += quoted_name(label);
    if (label != graph_.name()) {
      out_ += " as " + quoted_name(graph_.name());
    }
    out_ += '(';
    join(graph_.inputs(), [&](const Value& input) {
      operand(input);
      out_ += ": " + input.shape().to_string();
    });
    out_ += ") {\n";
  }

  void operand(const Value& value) {
    if (const auto* input = value.node().as<Input>()) {
      out_ += quoted_name(input->name);
    } else {
      out_ += '%';
      out_ += std::to_string(first_number_.at(&value.node()) + static_cast<size_t>(value.output()));
    }
  }

  void statement(const Node& node) {
    first_number_.emplace(&node, next_number_);
    out_ += "  ";
    join(node.shapes, [&](const Shape&) { out_ += '%' + std::to_string(next_number_++); });
    if (options_.types) {
      out_ += ": ";
      join(node.shapes, [&](const Shape& shape) { out_ += shape.to_string(); });
    }
    out_ += " = ";
    operation(node);
    if (options_.places && !node.place.empty()) {
      out_ += " @" + text::quoted_string(node.place);
    }
    out_ += '\n';
  }

  void operation(const Node& node) {
    out_ += op_name(node.op);
    out_ += '(';
    join(node.inputs, [&](const Value& value) { operand(value); });
    // A row of the scalar table is called by its name, and what it gives follows from what it takes, but for a cast.
    if (const auto* map = node.as<Map>()) {
      if (map->fn->result == ResultRule::given) {
        out_ += ", ";
        out_ += name(map->dtype);
      }
    } else {
      text::print_fields(fields_, node.op, node.inputs.empty());
    }
    out_ += ')';
  }

  void returns() {
    out_ += graph_.outputs().empty() ? "  return" : "  return ";
    join(graph_.outputs(), [&](const Output& output) {
      out_ += quoted_name(output.name) + "=";
      operand(output.value);
      if (output.aliases >= 0) {
        out_ += " aliases ";
        operand(graph_.inputs()[static_cast<size_t>(output.aliases)]);
      }
    });
    out_ += '\n';
  }

  const Graph& graph_;
  const GraphLabels& labels_;
  const PrintOptions& options_;
  std::string& out_;
  text::FieldPrinter fields_;
  std::unordered_map<const Node*, size_t> first_number_;
  size_t next_number_ = 0;
};

/// Whether `graph` is called by one of `graphs`.
bool is_called(const Graph& graph, const std::vector<Graph>& graphs) {
  for (const Graph& caller : graphs) {
    for (const Node* node : caller.nodes()) {
      for (const Graph& body : called_graphs(*node)) {
        if (body == graph) {
          return true;
        }
      }
    }
  }
  return false;
}

}  // namespace

std::string to_text(const Graph& graph, const PrintOptions& options) { return to_text(GraphSet{{graph}}, options); }

std::string to_text(const GraphSet& module, const PrintOptions& options) {
  GraphLabels labels;
  std::vector<Graph> graphs;
  for (const Graph& root : module.graphs) {
    if (root == Graph()) {
      fail("an empty Graph has no text");
    }
    for (const Graph& graph : reachable_graphs(root)) {
      if (labels.add(graph)) {
        graphs.push_back(graph);
      }
    }
  }
  std::string out;
  for (const Graph& graph : graphs) {
    if (out.empty() && needs_unify(graph)) {
      out = "names unify\n";
    }
  }
  for (const Graph& graph : graphs) {
    const bool listed = std::ranges::find(module.graphs, graph) != module.graphs.end();
    GraphPrinter(graph, labels, options, out).print(listed && is_called(graph, graphs));
  }
  return out;
}

}  // namespace tenon
