#include "report/graph_json.h"

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/node.h"
#include "ir/walk.h"
#include "report/drawn_graph.h"

namespace tenon::report {
namespace {

Json node_json(const Node& node, size_t step) {
  const auto* in = node.as<Input>();
  const bool is_constant = node.as<Constant>() != nullptr;
  Json json = Json::object();
  json.set("kind", in != nullptr ? "input" : is_constant ? "constant" : "operator");
  json.set("label", in != nullptr ? std::string_view(in->name) : is_constant ? "constant" : op_name(node.op));
  if (step != 0) {
    json.set("step", step);
  }
  if (!node.place.empty()) {
    json.set("place", node.place);
  }
  return json.set("shape", node.shapes[0].to_string());
}

}  // namespace

Json graph_json(const compiler::Lowered& lowered, const Executable& executable) {
  const DrawnGraph graph(lowered);
  const std::unordered_map<const Node*, size_t> step_of = graph.step_of();
  std::unordered_map<const Node*, size_t> number;
  std::vector<const Node*> drawn;
  for (const Node* node : graph.nodes()) {
    // What a segment reads of an earlier one is drawn there.
    if (&graph.source(Value(node, 0)).node() == node && !is_number(*node)) {
      number.emplace(node, drawn.size());
      drawn.push_back(node);
    }
  }
  Json nodes = Json::array();
  Json edges = Json::array();
  for (const Node* node : drawn) {
    const auto step = step_of.find(node);
    nodes.push(node_json(*node, step == step_of.end() ? 0 : step->second + 1));
    std::unordered_set<const Node*> seen;
    for (const Value& operand : node->inputs) {
      const auto from = number.find(&graph.source(operand).node());
      if (from != number.end() && seen.insert(from->first).second) {
        edges.push(Json::array().push(from->second).push(number.at(node)));
      }
    }
  }
  const std::vector<Value> outputs = graph.outputs();
  for (size_t i = 0; i < outputs.size(); ++i) {
    nodes.push(Json::object()
                   .set("kind", "output")
                   .set("label", executable.outputs()[i].name)
                   .set("shape", outputs[i].shape().to_string()));
    if (const auto from = number.find(&outputs[i].node()); from != number.end()) {
      edges.push(Json::array().push(from->second).push(drawn.size() + i));
    }
  }
  return Json::object().set("nodes", nodes).set("edges", edges);
}

}  // namespace tenon::report
