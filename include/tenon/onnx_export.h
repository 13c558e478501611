// Graphs become ONNX models.
#pragma once

#include <filesystem>
#include <string>

#include "tenon/graph.h"

namespace tenon {

/// The graph as an ONNX model: opset 17, IR version 8. Axis names become `dim_param` (an expression its text), sizes
/// are computed from the inputs' shapes where operators need them, so the model is good for every size too. A name that
/// no input's shape determines becomes an i64 scalar input of that name. Composites are written as what they are made
/// of; that an output takes over an input's memory has no form there. Errors: an operation without an ONNX form (random
/// numbers, bits of integers, ...), with its place; constants of more than 2 GiB, which one file cannot hold.
std::string export_onnx_bytes(const Graph& graph);

/// The same as a file. Error when it cannot be written.
void export_onnx(const Graph& graph, const std::filesystem::path& file);

}  // namespace tenon
