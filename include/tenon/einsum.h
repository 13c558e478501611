// Sums of products in index notation.
#pragma once

#include <string_view>
#include <vector>

#include "tenon/ops.h"

namespace tenon {

/// As NumPy's: one letter for each axis of each operand, `bij,bjk->bik`. Letters that the output leaves out are summed;
/// a letter twice in one operand is its diagonal; `...` stands for all other axes, aligned at the last (one of size 1
/// there broadcasts). Without `->` the output has the ellipsis' axes, then the letters that occur once, in alphabetical
/// order. Operands combine from left to right. Extents may be symbolic; those of one letter must be equal.
Value einsum(std::string_view equation, const std::vector<Value>& operands);

}  // namespace tenon
