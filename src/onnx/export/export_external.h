// Constants in a file beside an ONNX model.
#pragma once

#include <map>
#include <string>

#include "base/file.h"
#include "onnx/proto.h"
#include "tenon/array.h"

namespace tenon::exporter {

/// Smaller ones stay in the model.
inline constexpr size_t kSmallestExternal = 1024;

/// Write the arrays, by the names of the initializers that stand for them, into `file`, each at a page of its own so
/// that it can be mapped, and say in the initializers where. `name` is the file's in the model's folder. Error when it
/// cannot be written.
void write_external(proto::GraphProto& graph, const std::map<std::string, Array>& arrays, NewFile& file,
                    const std::string& name);

}  // namespace tenon::exporter
