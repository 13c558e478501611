// What conditionals, loops and scans share.
#pragma once

#include <string_view>
#include <vector>

#include "onnx/import/item.h"

namespace tenon::importer {

/// The items as tensors; an Error for a sequence, which is `what`.
std::vector<Value> to_values(const Items& items, std::string_view what);

/// A flag of one element as a scalar.
Value as_flag(const Value& x);

/// Error unless what a body gives for carried values has the dtypes and ranks of what it gets.
void require_same_shapes(const std::vector<Value>& before, const std::vector<Value>& after);

}  // namespace tenon::importer
