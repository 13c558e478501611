// Graphs become ONNX models.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tenon/bindings.h"
#include "tenon/graph.h"
#include "tenon/onnx.h"

namespace tenon {

struct OnnxExportOptions {
  bool external_data = false;  ///< large constants beside the model; not of export_onnx_bytes()
  /// Values of inputs, by name: these become initializers of the same names, and are no inputs of the model.
  std::vector<OnnxWeight> weights = {};
  int opset = 17;       ///< of the model: 17 to 24; bits of integers and scatters by extrema have a form since 18
  Bindings usual = {};  ///< sizes that the model is usually run at, kept in its metadata (`tenon.usual`)
};

/// The graph as an ONNX model: opset 17, IR 8 by default. Axis names become `dim_param` (an expression its text), sizes
/// are computed from the inputs' shapes where operators need them, so the model is good for every size too. A name that
/// no input's shape determines becomes an i64 scalar input of that name. Composites are written as what they are made
/// of; that an output takes over an input's memory has no form there. Errors: an operation without an ONNX form (random
/// numbers, shifts of signed integers, ...) in the opset, with its place; more than 2 GiB, which one file cannot hold.
std::string export_onnx_bytes(const Graph& graph, const OnnxExportOptions& options = {});

/// The same as a file. With external data, constants of a kibibyte and more are in `file`.data beside it, each at a
/// page of its own, so that importing the model maps them. Error when a file cannot be written.
void export_onnx(const Graph& graph, const std::filesystem::path& file, const OnnxExportOptions& options = {});

}  // namespace tenon
