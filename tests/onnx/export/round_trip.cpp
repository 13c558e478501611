#include "onnx/export/round_trip.h"

#include <onnx/checker.h>
#include <onnx/shape_inference/implementation.h>

#include "base/fail.h"
#include "onnx/proto.h"
#include "tenon/onnx.h"
#include "tenon/onnx_export.h"

namespace tenon {
namespace {

void add_operators(const proto::GraphProto& graph, std::vector<std::string>& operators) {
  for (const proto::NodeProto& node : graph.node()) {
    operators.push_back(node.op_type());
    for (const proto::AttributeProto& attribute : node.attribute()) {
      if (attribute.has_g()) {
        add_operators(attribute.g(), operators);
      }
    }
  }
}

}  // namespace

std::string onnx_complaint(const std::string& bytes) {
  proto::ModelProto model;
  if (!model.ParseFromString(bytes)) {
    return "this is no model";
  }
  try {
    proto::checker::check_model(model);
    proto::shape_inference::InferShapes(model, proto::OpSchemaRegistry::Instance(),
                                        proto::ShapeInferenceOptions(true, 1, true));
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

std::vector<std::string> onnx_operators(const std::string& bytes) {
  proto::ModelProto model;
  model.ParseFromString(bytes);
  std::vector<std::string> operators;
  add_operators(model.graph(), operators);
  return operators;
}

Graph round_trip(const Graph& graph, const Bindings& sizes) {
  const std::string bytes = export_onnx_bytes(graph);
  if (const std::string complaint = onnx_complaint(bytes); !complaint.empty()) {
    fail("the exported model of `{}` is not valid: {}", graph.name(), complaint);
  }
  OnnxOptions options;
  while (true) {
    try {
      return import_onnx_bytes(bytes, {}, options);
    } catch (const OnnxValueNeeded& needed) {
      // A size that no input's shape determines is an input of the model.
      const auto value = Array::from<int64_t>({}, {sizes.at(needed.input())});
      if (!options.values.emplace(needed.input(), value).second) {
        throw;
      }
    }
  }
}

}  // namespace tenon
