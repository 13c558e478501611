#include "onnx/import/functions.h"

#include <google/protobuf/unknown_field_set.h>

#include <map>
#include <string>
#include <vector>

#include "base/fail.h"

namespace tenon::importer {
namespace {

using Nodes = google::protobuf::RepeatedPtrField<proto::NodeProto>;
using Given = std::map<std::string, const proto::AttributeProto*>;

// Bodies nest no deeper than protobuf reads them.
void put_in(Nodes& nodes, const Given& given) {
  for (proto::NodeProto& node : nodes) {
    google::protobuf::RepeatedPtrField<proto::AttributeProto> kept;
    for (proto::AttributeProto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) {
        put_in(*attribute.mutable_g()->mutable_node(), given);
      }
      if (attribute.ref_attr_name().empty()) {
        kept.Add()->Swap(&attribute);
        continue;
      }
      if (const auto found = given.find(attribute.ref_attr_name()); found != given.end()) {
        proto::AttributeProto& value = *kept.Add();
        value = *found->second;
        value.set_name(attribute.name());
      }
    }
    node.mutable_attribute()->Swap(&kept);
  }
}

constexpr int kDefaultsField = 11;  // FunctionProto::attribute_proto, which older headers do not have

/// Attributes of a function that have values where a call gives none.
template <class Function>
std::vector<proto::AttributeProto> defaults_of(const Function& function) {
  std::vector<proto::AttributeProto> defaults;
  if constexpr (requires { function.attribute_proto(); }) {
    defaults.assign(function.attribute_proto().begin(), function.attribute_proto().end());
  } else {
    const auto& fields = function.unknown_fields();
    for (int i = 0; i < fields.field_count(); ++i) {
      const auto& field = fields.field(i);
      if (field.number() == kDefaultsField && field.type() == field.TYPE_LENGTH_DELIMITED &&
          !defaults.emplace_back().ParsePartialFromString(field.length_delimited())) {
        fail("an attribute of the function `{}` is malformed", function.name());
      }
    }
  }
  return defaults;
}

}  // namespace

Nodes instantiate(const proto::FunctionProto& function, const proto::NodeProto& node) {
  const std::vector<proto::AttributeProto> defaults = defaults_of(function);
  Given given;
  for (const proto::AttributeProto& attribute : defaults) {
    given[attribute.name()] = &attribute;
  }
  for (const proto::AttributeProto& attribute : node.attribute()) {
    given[attribute.name()] = &attribute;
  }
  Nodes nodes = function.node();
  put_in(nodes, given);
  return nodes;
}

}  // namespace tenon::importer
