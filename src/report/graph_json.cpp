#include "report/graph_json.h"

#include <set>

#include "ir/node.h"
#include "report/drawn_graph.h"

namespace tenon::report {
namespace {

Json node_json(const DrawnNode& drawn) {
  const Node& node = *drawn.node;
  const auto* in = node.as<Input>();
  const bool is_constant = node.as<Constant>() != nullptr;
  Json json = Json::object();
  json.set("kind", in != nullptr ? "input" : is_constant ? "constant" : "operator");
  json.set("label", in != nullptr ? std::string_view(in->name) : is_constant ? "constant" : op_name(node.op));
  if (drawn.step) {
    json.set("step", *drawn.step + 1);
  }
  if (!node.place.empty()) {
    json.set("place", node.place);
  }
  return json.set("shape", node.shapes[0].to_string());
}

}  // namespace

Json graph_json(const compiler::Lowered& lowered, const Executable& executable) {
  const DrawnGraph graph = drawn_graph(lowered);
  Json nodes = Json::array();
  Json edges = Json::array();
  for (size_t to = 0; to < graph.nodes.size(); ++to) {
    nodes.push(node_json(graph.nodes[to]));
    std::set<size_t> seen;
    for (const DrawnValue& operand : graph.nodes[to].operands) {
      if (seen.insert(operand.from).second) {
        edges.push(Json::array().push(operand.from).push(to));
      }
    }
  }
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    nodes.push(Json::object()
                   .set("kind", "output")
                   .set("label", executable.outputs()[i].name)
                   .set("shape", executable.outputs()[i].shape.to_string()));
    if (graph.outputs[i]) {
      edges.push(Json::array().push(graph.outputs[i]->from).push(graph.nodes.size() + i));
    }
  }
  return Json::object().set("nodes", nodes).set("edges", edges);
}

}  // namespace tenon::report
