// Which element types the operators of ONNX take.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "tenon/dtype.h"

namespace tenon::exporter {

/// The opsets that can be written.
inline constexpr int kOldestOpset = 17;
inline constexpr int kNewestOpset = 24;

/// The dtype in which an operator of every such opset computes what is meant in `dtype`: itself where the operator
/// takes it, else the next wider type that it takes; nothing when there is none. Operators that are not in the table
/// take every type.
std::optional<Dtype> find_onnx_carrier(std::string_view op, Dtype dtype);

/// The operators of the table that an opset has.
std::vector<std::string_view> onnx_typed_operators(int opset);

}  // namespace tenon::exporter
