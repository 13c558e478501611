#include "onnx/registry.h"

namespace tenon::importer {

std::vector<OperatorEntry> recurrent_operators() { return {}; }

}  // namespace tenon::importer
