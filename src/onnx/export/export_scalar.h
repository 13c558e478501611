// Scalar primitives as ONNX operators.
#pragma once

#include <string>
#include <vector>

#include "kernel/scalar/scalar.h"
#include "onnx/export/export_writer.h"

namespace tenon::exporter {

/// An expression over tensors, one for each argument, all of which broadcast together. The result has the expression's
/// dtype. Error for a primitive that the opset cannot express in its dtype.
std::string write_expression(const Expr& expression, const std::vector<std::string>& arguments, OnnxWriter& to);

}  // namespace tenon::exporter
