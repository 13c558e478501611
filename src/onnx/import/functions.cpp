#include "onnx/import/functions.h"

#include <map>
#include <string>

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

}  // namespace

Nodes instantiate(const proto::FunctionProto& function, const proto::NodeProto& node) {
  Given given;
  for (const proto::AttributeProto& attribute : node.attribute()) {
    given[attribute.name()] = &attribute;
  }
  Nodes nodes = function.node();
  put_in(nodes, given);
  return nodes;
}

}  // namespace tenon::importer
