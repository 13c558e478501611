// ONNX models for tests, written in C++.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "onnx/proto.h"
#include "tenon/array.h"
#include "tenon/graph.h"
#include "tenon/onnx.h"

namespace tenon {

/// An attribute: a number, a list, a text or a body.
proto::AttributeProto attribute(const std::string& name, int64_t value);
proto::AttributeProto attribute(const std::string& name, double value);
proto::AttributeProto attribute(const std::string& name, const std::string& value);
proto::AttributeProto attribute(const std::string& name, const std::vector<int64_t>& values);
proto::AttributeProto attribute(const std::string& name, const proto::GraphProto& body);

proto::TensorProto tensor(const std::string& name, const Array& value);

/// Adds to a graph; each function gives the message that it added.
class GraphBuilder {
 public:
  explicit GraphBuilder(proto::GraphProto& graph) : graph_(graph) {}

  /// `f32[batch, 3]`: names are dim_param, `-1` is neither.
  proto::ValueInfoProto& input(const std::string& name, const std::string& shape);
  void output(const std::string& name);
  /// With the shape that the file declares for it; the second says that of a value between.
  void output(const std::string& name, const std::string& shape);
  void declares(const std::string& name, const std::string& shape);
  void constant(const std::string& name, const Array& value);
  proto::NodeProto& node(const std::string& type, const std::vector<std::string>& inputs,
                         const std::vector<std::string>& outputs,
                         const std::vector<proto::AttributeProto>& attributes = {}, const std::string& domain = "");

 private:
  proto::GraphProto& graph_;
};

/// A model of one opset, with its graph to be filled in.
class OnnxModelBuilder : public GraphBuilder {
 public:
  explicit OnnxModelBuilder(int opset = 17);

  proto::ModelProto& model() { return *model_; }
  void opset(const std::string& domain, int version);
  std::string bytes() const;

 private:
  explicit OnnxModelBuilder(std::shared_ptr<proto::ModelProto> model);
  std::shared_ptr<proto::ModelProto> model_;
};

/// What a model becomes.
Graph imported(const OnnxModelBuilder& model, const OnnxOptions& options = {});

/// The body of a Loop whose value grows by `x`, from outside, in every trip.
proto::GraphProto growing_body(const std::string& x);

/// A list of integers, as shapes and axes are given.
Array ints(const std::vector<int64_t>& values);

/// `y` is `x` in the sizes that the values of `to` say.
OnnxModelBuilder reshape_to_sizes();
/// `y` is the sum of `x` (f32[2, n]) along the axis that the value of `axes` says.
OnnxModelBuilder sum_along();

}  // namespace tenon
