// What tests of the exporter share.
#pragma once

#include <string>
#include <vector>

#include "tenon/array.h"
#include "tenon/graph.h"

namespace tenon {

/// What ONNX's own checker or its shape inference, in strict mode, says against the model; empty when nothing.
std::string onnx_complaint(const std::string& bytes);

/// The operators of a model, in order, bodies included.
std::vector<std::string> onnx_operators(const std::string& bytes);

/// Export, check, import again: the graph of what was written. Sizes that no input has are taken from `sizes`. Error,
/// with the complaint, where ONNX has one.
Graph round_trip(const Graph& graph, const Bindings& sizes = {});

}  // namespace tenon
