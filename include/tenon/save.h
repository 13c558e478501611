// Trained networks in files that others read.
#pragma once

#include <filesystem>
#include <type_traits>
#include <utility>

#include "tenon/onnx_export.h"
#include "tenon/traced.h"

namespace tenon {

/// The traced model as an ONNX file: its weights are initializers under their names.
void save_onnx(const TracedModel& model, const std::filesystem::path& file, OnnxExportOptions options = {});

/// What trace(net, examples) gives, as an ONNX file:
///   save_onnx(net, "net.onnx", {{"image", tensor(image, {"batch", 1, 28, 28})}});
template <class Net>
  requires std::is_base_of_v<nn::Module, Net>
void save_onnx(const Net& net, const std::filesystem::path& file, const nn::NamedTensors& examples,
               OnnxExportOptions options = {}) {
  save_onnx(trace(net, examples), file, std::move(options));
}

}  // namespace tenon
