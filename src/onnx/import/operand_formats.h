// Elements of formats that Tenon holds as bytes: operators that move them carry the format along.
#pragma once

#include <string_view>

#include "onnx/import/item.h"
#include "onnx/import/registry.h"

namespace tenon::importer {

/// Results of operators that move elements are of the format that they moved. Error: an operator that would take the
/// bytes for numbers.
void carry_formats(ElementUse elements, std::string_view type, const Items& operands, Items& results);

}  // namespace tenon::importer
