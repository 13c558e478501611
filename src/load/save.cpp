#include "tenon/save.h"

namespace tenon {

void save_onnx(const TracedModel& model, const std::filesystem::path& file, OnnxExportOptions options) {
  for (const auto& [name, array] : model.weights) {
    options.weights.push_back({.name = name, .value = array});
  }
  export_onnx(model.graph, file, options);
}

}  // namespace tenon
