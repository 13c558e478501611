// Which axes a Squeeze without axes drops.
#pragma once

#include "onnx/import/node_call.h"

namespace tenon::importer {

/// Those that are 1. Of a named axis sizes decide that: the sizes that the import is told, else the rank that the file
/// declares for the result, else none is 1; a run at sizes that would give another rank is then an error.
Axes squeezed_axes(const NodeCall& call, const Value& x);

}  // namespace tenon::importer
