// What a file says of the shapes of inputs.
#pragma once

#include <set>
#include <string>

#include "onnx/proto.h"
#include "tenon/array.h"
#include "tenon/shape.h"

namespace tenon::importer {

/// The names of sizes (`dim_param`) of a graph's inputs that are single words.
std::set<std::string> plain_names(const proto::GraphProto& graph);

/// The shape of an input of a graph as the file declares it. A `dim_param` that is an expression is one where sizes of
/// inputs decide all of its names; `names` are those that some size has alone.
Shape declared_shape(const proto::ValueInfoProto& input, const std::set<std::string>& names);

/// The value that is given for the input `name`. A single integer may stand for whatever the input is, if that has one
/// element; other values must be of its dtype and shape.
Array as_declared(const Array& given, const Shape& declared, const std::string& name);

}  // namespace tenon::importer
