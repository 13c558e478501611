// Models that the command writes as ONNX.
#pragma once

#include <string>
#include <vector>

#include "tenon/bindings.h"
#include "tenon/models.h"
#include "train/trainable.h"

namespace tenon::cli {

struct OnnxFile {
  Graph graph;
  std::vector<train::Weight> weights = {};  // values of inputs, which become initializers of these names
  Bindings usual = {};
  bool external_data = false;
  int opset = 17;
};
/// Error when the file cannot be written, and in a build that writes none.
void write_onnx(const std::string& path, const OnnxFile& file);
void require_onnx(const std::string& path);

/// The model's parameters with these values.
std::vector<train::Weight> model_weights(const Model& model, const std::vector<Array>& values);

}  // namespace tenon::cli
