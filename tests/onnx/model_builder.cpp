#include "onnx/model_builder.h"

#include "onnx/tensor_data.h"
#include "tenon/shape.h"

namespace tenon {
namespace {

proto::AttributeProto named(const std::string& name, proto::AttributeProto::AttributeType type) {
  proto::AttributeProto result;
  result.set_name(name);
  result.set_type(type);
  return result;
}

void set_opset(proto::ModelProto& model, const std::string& domain, int version) {
  auto& opset = *model.add_opset_import();
  opset.set_domain(domain);
  opset.set_version(version);
}

}  // namespace

proto::AttributeProto attribute(const std::string& name, int64_t value) {
  proto::AttributeProto result = named(name, proto::AttributeProto::INT);
  result.set_i(value);
  return result;
}

proto::AttributeProto attribute(const std::string& name, double value) {
  proto::AttributeProto result = named(name, proto::AttributeProto::FLOAT);
  result.set_f(static_cast<float>(value));
  return result;
}

proto::AttributeProto attribute(const std::string& name, const std::string& value) {
  proto::AttributeProto result = named(name, proto::AttributeProto::STRING);
  result.set_s(value);
  return result;
}

proto::AttributeProto attribute(const std::string& name, const std::vector<int64_t>& values) {
  proto::AttributeProto result = named(name, proto::AttributeProto::INTS);
  result.mutable_ints()->Add(values.begin(), values.end());
  return result;
}

proto::AttributeProto attribute(const std::string& name, const proto::GraphProto& body) {
  proto::AttributeProto result = named(name, proto::AttributeProto::GRAPH);
  *result.mutable_g() = body;
  return result;
}

proto::TensorProto tensor(const std::string& name, const Array& value) {
  proto::TensorProto result;
  result.set_name(name);
  result.set_data_type(importer::to_onnx_type(value.dtype()));
  result.mutable_dims()->Add(value.dims().begin(), value.dims().end());
  result.set_raw_data(std::string(reinterpret_cast<const char*>(value.data()), value.byte_count()));
  return result;
}

namespace {

void declare(proto::ValueInfoProto& info, const std::string& name, const std::string& shape) {
  const Shape parsed = Shape::parse(shape);
  info.set_name(name);
  auto& type = *info.mutable_type()->mutable_tensor_type();
  type.set_elem_type(importer::to_onnx_type(parsed.dtype()));
  type.mutable_shape();
  for (const Axis& axis : parsed.axes()) {
    auto& dim = *type.mutable_shape()->add_dim();
    if (axis.is_static()) {
      dim.set_dim_value(*axis.extent().constant());
    } else if (!axis.is_anonymous()) {
      dim.set_dim_param(axis.to_string());
    }
  }
}

}  // namespace

proto::ValueInfoProto& GraphBuilder::input(const std::string& name, const std::string& shape) {
  proto::ValueInfoProto& info = *graph_.add_input();
  declare(info, name, shape);
  return info;
}

void GraphBuilder::output(const std::string& name) { graph_.add_output()->set_name(name); }
void GraphBuilder::output(const std::string& name, const std::string& shape) {
  declare(*graph_.add_output(), name, shape);
}
void GraphBuilder::declares(const std::string& name, const std::string& shape) {
  declare(*graph_.add_value_info(), name, shape);
}

void GraphBuilder::constant(const std::string& name, const Array& value) {
  *graph_.add_initializer() = tensor(name, value);
}

proto::NodeProto& GraphBuilder::node(const std::string& type, const std::vector<std::string>& inputs,
                                     const std::vector<std::string>& outputs,
                                     const std::vector<proto::AttributeProto>& attributes, const std::string& domain) {
  proto::NodeProto& result = *graph_.add_node();
  result.set_op_type(type);
  result.set_domain(domain);
  for (const std::string& name : inputs) {
    result.add_input(name);
  }
  for (const std::string& name : outputs) {
    result.add_output(name);
  }
  for (const proto::AttributeProto& each : attributes) {
    *result.add_attribute() = each;
  }
  return result;
}

OnnxModelBuilder::OnnxModelBuilder(std::shared_ptr<proto::ModelProto> model)
    : GraphBuilder(*model->mutable_graph()), model_(std::move(model)) {}

OnnxModelBuilder::OnnxModelBuilder(int opset) : OnnxModelBuilder(std::make_shared<proto::ModelProto>()) {
  model_->set_ir_version(8);
  set_opset(*model_, "", opset);
}

void OnnxModelBuilder::opset(const std::string& domain, int version) { set_opset(*model_, domain, version); }

std::string OnnxModelBuilder::bytes() const { return model_->SerializeAsString(); }

Graph imported(const OnnxModelBuilder& model, const OnnxOptions& options) {
  return import_onnx_bytes(model.bytes(), {}, options);
}

Array ints(const std::vector<int64_t>& values) { return Array::from({static_cast<int64_t>(values.size())}, values); }

proto::GraphProto growing_body(const std::string& x) {
  proto::GraphProto body;
  GraphBuilder builder(body);
  builder.input("i", "i64[]");
  builder.input("c", "bool[]");
  builder.input("state", "f32[m]");
  builder.node("Identity", {"c"}, {"c_out"});
  builder.node("Concat", {"state", x}, {"next"}, {attribute("axis", int64_t{0})});
  builder.output("c_out");
  builder.output("next");
  return body;
}

OnnxModelBuilder reshape_to_sizes() {
  OnnxModelBuilder model;
  model.input("x", "f32[n]");
  model.input("to", "i64[2]");
  model.node("Reshape", {"x", "to"}, {"y"});
  model.output("y");
  return model;
}

OnnxModelBuilder sum_along() {
  OnnxModelBuilder model;
  model.input("x", "f32[2, n]");
  model.input("axes", "i64[1]");
  model.node("ReduceSum", {"x", "axes"}, {"y"}, {attribute("keepdims", int64_t{0})});
  model.output("y");
  return model;
}

}  // namespace tenon
