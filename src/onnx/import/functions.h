// Functions of a model: bodies with attributes put in.
#pragma once

#include "onnx/proto.h"

namespace tenon::importer {

/// The function's nodes, with each reference to an attribute of the function replaced by what `node`, which calls it,
/// gives for it, or by its default; without either, the attribute is left out.
google::protobuf::RepeatedPtrField<proto::NodeProto> instantiate(const proto::FunctionProto& function,
                                                                 const proto::NodeProto& node);

}  // namespace tenon::importer
