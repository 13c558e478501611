// What a model needs that the importer has not, found before anything is built.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "onnx/proto.h"

namespace tenon::importer {

using OpsetTable = std::map<std::string, int, std::less<>>;
using ReadOpsets = std::function<OpsetTable(const google::protobuf::RepeatedPtrField<proto::OperatorSetIdProto>&)>;

/// The model's own function that a node calls; null for an operator.
const proto::FunctionProto* find_local_function(const proto::ModelProto& model, const proto::NodeProto& node);

/// One Error that lists every operator of the model that is not supported, with its count and its first place; those in
/// bodies, and in functions that are called, included.
void require_supported(const proto::ModelProto& model, const OpsetTable& opsets, const ReadOpsets& read_opsets);

}  // namespace tenon::importer
