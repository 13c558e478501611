#include "onnx/registry.h"

namespace tenon::importer {

std::vector<OperatorEntry> sequence_operators() { return {}; }

}  // namespace tenon::importer
