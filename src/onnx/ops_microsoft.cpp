#include "onnx/registry.h"

namespace tenon::importer {

std::vector<OperatorEntry> microsoft_operators() { return {}; }

}  // namespace tenon::importer
