// Which operators take elements of formats that Tenon holds as bytes.
#pragma once

#include <string_view>

#include "onnx/import/item.h"

namespace tenon::importer {

/// Results of operators that move elements are of the format that they moved. Error: an operator that would take the
/// bytes for numbers.
void carry_formats(std::string_view domain, std::string_view type, const Items& operands, Items& results);

}  // namespace tenon::importer
