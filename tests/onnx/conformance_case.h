// One case of the official tests in one way.
#pragma once

#include "onnx/conformance.h"

namespace tenon {

/// Runs in the calling process, whatever that may lead to.
CaseResult run_case(const std::filesystem::path& folder, Way way);

}  // namespace tenon
