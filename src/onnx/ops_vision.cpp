#include "onnx/registry.h"

namespace tenon::importer {

std::vector<OperatorEntry> vision_operators() { return {}; }

}  // namespace tenon::importer
