// Conditionals and loops: bodies are graphs inside of nodes, which see the tensors outside.
#include "onnx/export/export_writer.h"
#include "passes/inline_calls.h"

namespace tenon::exporter {
namespace {

proto::GraphProto branch(const Graph& called, const std::vector<std::string>& operands, OnnxWriter& to) {
  const Graph body = passes::inline_calls(called);
  proto::GraphProto graph;
  to.open(graph);
  for (size_t i = 0; i < operands.size(); ++i) {
    to.define(body.inputs()[i], operands[i]);
  }
  to.write_nodes(body);
  for (const Output& output : body.outputs()) {
    to.body_output(to.tensor(output.value), output.value.shape());
  }
  to.close();
  return graph;
}

}  // namespace

OnnxTensors write_onnx(const If& kind, const Node& node, OnnxWriter& to) {
  std::vector<std::string> operands;
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    operands.push_back(to.tensor(node.inputs[i]));
  }
  return to.nodes(
      "If", {to.tensor(node.inputs[0])}, node.shapes.size(),
      {{"then_branch", branch(kind.then_body, operands, to)}, {"else_branch", branch(kind.else_body, operands, to)}});
}

OnnxTensors write_onnx(const Loop& kind, const Node& node, OnnxWriter& to) {
  const Graph body = passes::inline_calls(kind.body);
  const auto carried = static_cast<size_t>(kind.carried);
  const auto scanned = static_cast<size_t>(kind.scanned);
  std::vector<std::string> inputs{to.scalar_size(kind.trips), to.scalar(boolean, 1)};
  proto::GraphProto graph;
  to.open(graph);
  const std::string iteration = to.body_input("iteration", Shape(i64, {}));
  const std::string go_on = to.body_input("go_on", Shape(boolean, {}));
  to.define(body.inputs()[0], iteration);
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const Value& parameter = body.inputs()[i + 1];
    const std::string& operand = to.tensor(node.inputs[i]);
    if (i < carried) {
      inputs.push_back(operand);
      to.define(parameter, to.body_input("carried", parameter.shape()));
    } else if (i < carried + scanned) {
      to.define(parameter, to.node("Gather", {operand, iteration}, {{"axis", int64_t{0}}}));
    } else {
      to.define(parameter, operand);
    }
  }
  to.write_nodes(body);
  if (!kind.conditional) {
    to.body_output(go_on, Shape(boolean, {}));
  }
  for (const Output& output : body.outputs()) {
    to.body_output(to.tensor(output.value), output.value.shape());
  }
  to.close();
  return to.nodes("Loop", inputs, node.shapes.size(), {{"body", std::move(graph)}});
}

}  // namespace tenon::exporter
