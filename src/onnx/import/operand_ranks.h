// How many axes operands have by ONNX's definitions.
#pragma once

#include <string_view>

#include "onnx/import/item.h"

namespace tenon::importer {

/// Error that names the operand, the axes that the operator expects of it and those it has. Before the operator is
/// read, so that a mistake of the model surfaces here and not in what the operator is made of.
void require_operand_ranks(std::string_view domain, std::string_view op, int version, const Items& operands);

}  // namespace tenon::importer
