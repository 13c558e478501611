#include "cli/models/write_onnx.h"

#include "base/fail.h"

#ifdef TENON_WITH_ONNX
#include "tenon/onnx_export.h"
#endif

namespace tenon::cli {

#ifdef TENON_WITH_ONNX

void require_onnx(const std::string& /*path*/) {}

void write_onnx(const std::string& path, const OnnxFile& file) {
  OnnxExportOptions options{.external_data = file.external_data, .opset = file.opset, .usual = file.usual};
  for (const train::Weight& weight : file.weights) {
    options.weights.push_back({.name = weight.name, .value = weight.value, .statistic = !weight.trainable});
  }
  export_onnx(file.graph, path, options);
}

#else

void require_onnx(const std::string& path) {
  fail("`{}`: this build writes no ONNX models (it was configured with TENON_ONNX=OFF)", path);
}

void write_onnx(const std::string& path, const OnnxFile&) { require_onnx(path); }

#endif

std::vector<train::Weight> model_weights(const Model& model, const std::vector<Array>& values) {
  std::vector<train::Weight> weights;
  for (size_t i = 0; i < values.size(); ++i) {
    const Parameter& parameter = model.parameters[i];
    weights.push_back({.name = parameter.name, .value = values[i], .trainable = parameter.trainable});
  }
  return weights;
}

}  // namespace tenon::cli
