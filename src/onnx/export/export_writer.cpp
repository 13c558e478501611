#include "onnx/export/export_writer.h"

#include <algorithm>
#include <unordered_set>

#include "base/fail.h"
#include "onnx/export/export_types.h"
#include "onnx/tensor_data.h"

namespace tenon::exporter {
namespace {

constexpr size_t kSmallConstant = 256;  // bytes; larger ones are the same only where their memory is

void set(proto::AttributeProto& to, const OnnxAttribute& attribute) {
  to.set_name(attribute.name);
  if (const auto* number = std::get_if<int64_t>(&attribute.value)) {
    to.set_type(proto::AttributeProto::INT);
    to.set_i(*number);
  } else if (const auto* list = std::get_if<std::vector<int64_t>>(&attribute.value)) {
    to.set_type(proto::AttributeProto::INTS);
    to.mutable_ints()->Add(list->begin(), list->end());
  } else if (const auto* text = std::get_if<std::string>(&attribute.value)) {
    to.set_type(proto::AttributeProto::STRING);
    to.set_s(*text);
  } else {
    to.set_type(proto::AttributeProto::GRAPH);
    *to.mutable_g() = std::get<proto::GraphProto>(attribute.value);
  }
}

/// Every name that the nodes of a graph read, those of graphs inside of them included.
void add_reads(const proto::NodeProto& node, std::unordered_set<std::string>& reads) {
  reads.insert(node.input().begin(), node.input().end());
  for (const proto::AttributeProto& attribute : node.attribute()) {
    if (attribute.has_g()) {
      for (const proto::NodeProto& inner : attribute.g().node()) {
        add_reads(inner, reads);
      }
      for (const proto::ValueInfoProto& output : attribute.g().output()) {
        reads.insert(output.name());
      }
    }
  }
}

/// Leave out nodes and constants that no output needs.
void prune(proto::GraphProto& graph) {
  std::unordered_set<std::string> reads;
  for (const proto::ValueInfoProto& output : graph.output()) {
    reads.insert(output.name());
  }
  std::vector<bool> keep(static_cast<size_t>(graph.node_size()));
  for (int i = graph.node_size(); i-- > 0;) {
    const proto::NodeProto& node = graph.node(i);
    if (std::ranges::any_of(node.output(), [&](const std::string& name) { return reads.contains(name); })) {
      keep[static_cast<size_t>(i)] = true;
      add_reads(node, reads);
    }
  }
  int kept = 0;
  for (int i = 0; i < graph.node_size(); ++i) {
    if (keep[static_cast<size_t>(i)]) {
      graph.mutable_node()->SwapElements(kept++, i);
    }
  }
  graph.mutable_node()->DeleteSubrange(kept, graph.node_size() - kept);
  kept = 0;
  for (int i = 0; i < graph.initializer_size(); ++i) {
    if (reads.contains(graph.initializer(i).name())) {
      graph.mutable_initializer()->SwapElements(kept++, i);
    }
  }
  graph.mutable_initializer()->DeleteSubrange(kept, graph.initializer_size() - kept);
}

}  // namespace

void describe(proto::ValueInfoProto& info, const std::string& name, const Shape& shape) {
  info.set_name(name);
  auto& type = *info.mutable_type()->mutable_tensor_type();
  type.set_elem_type(importer::to_onnx_type(shape.dtype()));
  auto& dims = *type.mutable_shape();
  for (const Axis& axis : shape.axes()) {
    auto& dim = *dims.add_dim();
    if (const auto size = axis.extent().constant()) {
      dim.set_dim_value(*size);
    } else {
      dim.set_dim_param(axis.extent().as_name().value_or(axis.extent().to_string()));
    }
  }
}

OnnxWriter::OnnxWriter(const Graph& graph, int opset, const std::vector<OnnxWeight>& weights, size_t external_from)
    : graph_(graph), opset_(opset), external_from_(external_from) {
  for (const OnnxWeight& weight : weights) {
    const auto is_called_so = [&](const Value& value) { return value.node().as<Input>()->name == weight.name; };
    const auto at = std::ranges::find_if(graph.inputs(), is_called_so);
    const Shape shape(weight.value.dtype(), {weight.value.dims().begin(), weight.value.dims().end()});
    if (at == graph.inputs().end() || at->dtype() != shape.dtype() || at->shape().is_dynamic() ||
        at->shape().dims() != shape.dims()) {
      fail("graph `{}` has no input `{}` that a weight {} fits", graph.name(), weight.name, shape.to_string());
    }
    weights_.emplace(weight.name, weight);
  }
  scopes_.push_back({.graph = &main_, .values = {}, .thin = {}, .known = {}});
  main_.set_name(graph.name().empty() ? "main" : graph.name());
}

proto::GraphProto OnnxWriter::write() {
  for (const Output& output : graph_.outputs()) {
    used_.insert(output.name);  // an input of the same name is another tensor
  }
  for (const Value& value : graph_.inputs()) {
    const std::string name = fresh(value.node().as<Input>()->name);
    if (const auto weight = weights_.find(value.node().as<Input>()->name); weight != weights_.end()) {
      proto::TensorProto& tensor = add_initializer(name, weight->second.value);
      if (weight->second.statistic) {
        tensor.set_doc_string(std::string(importer::kStatisticDoc));
      }
    } else {
      describe(*main_.add_input(), name, value.shape());
    }
    define(value, name);
  }
  write_nodes(graph_);
  place_.clear();
  for (const Output& output : graph_.outputs()) {
    proto::NodeProto& node = *main_.add_node();
    node.set_op_type("Identity");
    node.add_input(tensor(output.value));
    node.add_output(output.name);
    describe(*main_.add_output(), output.name, output.value.shape());
  }
  prune(main_);
  name_nodes(main_);
  return std::move(main_);
}

/// Nodes have places as names, which become different here: the first of a place keeps it, so that reading the file
/// gives it back; others say what they are, too, and written again they keep that.
void OnnxWriter::name_nodes(proto::GraphProto& graph) {
  for (proto::NodeProto& node : *graph.mutable_node()) {
    if (!node.name().empty() && !node_names_.insert(node.name()).second) {
      const std::string stem = fmt::format("{}/{}", node.name(), node.op_type());
      std::string name = stem;
      for (int i = 1; !node_names_.insert(name).second; ++i) {
        name = fmt::format("{}_{}", stem, i);
      }
      node.set_name(name);
    }
    for (proto::AttributeProto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) {
        name_nodes(*attribute.mutable_g());
      }
    }
  }
}

void OnnxWriter::write_nodes(const Graph& graph) {
  for (const Node* node : graph.nodes()) {
    const bool defined =
        std::ranges::any_of(scopes_, [&](const Scope& scope) { return scope.values.contains(Value(node, 0)); });
    if (defined) {
      continue;
    }
    place_ = node->place;
    try {
      const OnnxTensors outputs =
          std::visit([&](const auto& kind) { return write_onnx(kind, *node, *this); }, node->op);
      TENON_CHECK(outputs.size() == node->shapes.size());
      for (size_t i = 0; i < outputs.size(); ++i) {
        define(Value(node, static_cast<int>(i)), outputs[i]);
      }
    } catch (Error& error) {
      if (!error.has_notes()) {
        error.note(fmt::format("node `{}` of graph `{}`", op_name(node->op), graph_.name()));
        if (!node->place.empty()) {
          error.note(fmt::format("at {}", node->place));
        }
      }
      throw;
    }
  }
}

std::string OnnxWriter::fresh(std::string_view stem) {
  std::string name(stem);
  for (int i = 1; !used_.insert(name).second; ++i) {
    name = fmt::format("{}_{}", stem, i);
  }
  return name;
}

std::string OnnxWriter::node(std::string_view op, const std::vector<std::string>& inputs,
                             const OnnxAttributes& attributes) {
  return nodes(op, inputs, 1, attributes)[0];
}

std::vector<std::string> OnnxWriter::nodes(std::string_view op, const std::vector<std::string>& inputs, size_t outputs,
                                           const OnnxAttributes& attributes) {
  proto::NodeProto node;
  node.set_op_type(std::string(op));
  node.mutable_input()->Add(inputs.begin(), inputs.end());
  for (const OnnxAttribute& attribute : attributes) {
    set(*node.add_attribute(), attribute);
  }
  // Equal nodes are one, which is what keeps arithmetic on sizes short.
  const std::string key = node.SerializeAsString();
  for (const Scope& scope : scopes_) {
    if (const auto at = scope.known.find(key); at != scope.known.end()) {
      return at->second;
    }
  }
  std::string stem(op);
  std::ranges::transform(stem, stem.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  std::vector<std::string> names;
  for (size_t i = 0; i < outputs; ++i) {
    names.push_back(fresh(stem));
    node.add_output(names.back());
  }
  if (!place_.empty()) {
    node.set_name(place_);
  }
  *scopes_.back().graph->add_node() = std::move(node);
  scopes_.back().known.emplace(key, names);
  return names;
}

std::string OnnxWriter::typed(std::string_view op, const std::vector<std::string>& inputs, Dtype dtype,
                              const OnnxAttributes& attributes, bool logical) {
  const Dtype held = carrier(op, dtype);
  std::vector<std::string> carried;
  for (const std::string& input : inputs) {
    carried.push_back(cast(input, dtype, held));
  }
  const std::string result = node(op, carried, attributes);
  return logical ? result : cast(result, held, dtype);
}

Dtype OnnxWriter::carrier(std::string_view op, Dtype dtype) const {
  const std::optional<Dtype> found = find_onnx_carrier(op, dtype);
  if (!found) {
    refuse(fmt::format("`{}` of {}", op, name(dtype)));
  }
  return *found;
}

void OnnxWriter::refuse(const std::string& what, std::optional<int> since) const {
  std::string other;
  if (since) {
    other = *since <= kNewestOpset
                ? fmt::format("; opset {} has one", *since)
                : fmt::format("; opset {} is the first with one, {} the newest written", *since, kNewestOpset);
  }
  fail("{} has no ONNX form in opset {}{}", what, opset_, other);
}

std::string OnnxWriter::cast(const std::string& x, Dtype from, Dtype to) {
  return from == to ? x : node("Cast", {x}, {{"to", int64_t{importer::to_onnx_type(to)}}});
}

proto::TensorProto& OnnxWriter::add_initializer(const std::string& tensor_name, const Array& value) {
  proto::TensorProto& tensor = *main_.add_initializer();
  tensor.set_name(tensor_name);
  tensor.set_data_type(importer::to_onnx_type(value.dtype()));
  tensor.mutable_dims()->Add(value.dims().begin(), value.dims().end());
  if (value.byte_count() >= external_from_) {
    external_.emplace(tensor_name, value);
  } else {
    tensor.set_raw_data(value.data(), value.byte_count());
  }
  return tensor;
}

std::string OnnxWriter::constant(const Array& value) {
  std::string key;
  if (value.byte_count() <= kSmallConstant) {
    key = fmt::format("{}/{}/", name(value.dtype()), fmt::join(value.dims(), ","));
    key.append(reinterpret_cast<const char*>(value.data()), value.byte_count());
    if (const auto known = constants_.find(key); known != constants_.end()) {
      return known->second;
    }
  }
  const std::string tensor_name = fresh(key.empty() ? "weight" : "constant");
  add_initializer(tensor_name, value);
  if (!key.empty()) {
    constants_.emplace(key, tensor_name);
  }
  return tensor_name;
}

std::string OnnxWriter::ints(const std::vector<int64_t>& values) {
  return constant(Array::from<int64_t>({static_cast<int64_t>(values.size())}, values));
}

const std::string& OnnxWriter::tensor(const Value& value) const {
  for (const Scope& scope : scopes_) {
    if (const auto at = scope.values.find(value); at != scope.values.end()) {
      return at->second;
    }
  }
  TENON_CHECK(false, "a value was not written before its user");
}

void OnnxWriter::define(const Value& value, std::string name) {
  scopes_.back().values.insert_or_assign(value, std::move(name));
}

const std::string& OnnxWriter::thin(const Value& value) const {
  for (const Scope& scope : scopes_) {
    if (const auto at = scope.thin.find(value); at != scope.thin.end()) {
      return at->second;
    }
  }
  return tensor(value);
}

bool OnnxWriter::has_thin(const Value& value) const {
  return std::ranges::any_of(scopes_, [&](const Scope& scope) { return scope.thin.contains(value); });
}

void OnnxWriter::define_thin(const Value& value, std::string name) {
  scopes_.back().thin.insert_or_assign(value, std::move(name));
}

void OnnxWriter::open(proto::GraphProto& body) {
  body.set_name(fresh("body"));
  scopes_.push_back({.graph = &body, .values = {}, .thin = {}, .known = {}});
}

void OnnxWriter::close() { scopes_.pop_back(); }

std::string OnnxWriter::body_input(std::string_view stem, const Shape& shape) {
  std::string name = fresh(stem);
  describe(*scopes_.back().graph->add_input(), name, shape);
  return name;
}

void OnnxWriter::body_output(const std::string& tensor, const Shape& shape) {
  // A graph's outputs are made in it, each by its own node.
  proto::NodeProto& node = *scopes_.back().graph->add_node();
  node.set_op_type("Identity");
  node.add_input(tensor);
  node.add_output(fresh("result"));
  describe(*scopes_.back().graph->add_output(), node.output(0), shape);
}

}  // namespace tenon::exporter
