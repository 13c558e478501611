// What people call a node.
#pragma once

#include <string>

#include "ir/node.h"

namespace tenon::schedule {

/// By its name in the model and its operation, "layers.0 (relu)"; where the model names none, "relu".
std::string named(const Node& node);

}  // namespace tenon::schedule
