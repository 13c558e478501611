#include "onnx/registry.h"

namespace tenon::importer {

std::vector<OperatorEntry> training_operators() { return {}; }

}  // namespace tenon::importer
