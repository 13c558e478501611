// Elementwise functions: by ONNX's operator where the table names one, else by the function's primitives.
#include <algorithm>

#include "onnx/export/export_scalar.h"
#include "onnx/export/export_types.h"

namespace tenon::exporter {
namespace {

/// Whether ONNX's operator takes the row's operands as they are and means the same for this dtype.
bool is_direct(const ScalarFn& fn, Dtype dtype, int opset) {
  // A cast has an attribute, a clip takes scalars; integers divided by 0 are 0 here and nothing there.
  constexpr std::string_view other_form[] = {"Cast", "Clip"};
  const bool divides = fn.onnx.name == "Div" && !is_float(dtype);
  return !fn.onnx.name.empty() && fn.onnx.since <= opset && !divides &&
         find_onnx_carrier(fn.onnx.name, dtype).has_value() &&
         std::ranges::find(other_form, fn.onnx.name) == std::end(other_form);
}

/// The operands, the smaller the better: all but one may leave repeating to the operator.
std::vector<std::string> operands_of(const Node& node, const OnnxWriter& to) {
  const auto& inputs = node.inputs;
  auto whole = std::ranges::find_if(inputs, [&](const Value& value) { return !to.has_thin(value); });
  if (whole == inputs.end()) {
    whole = inputs.begin();
  }
  std::vector<std::string> operands;
  for (auto value = inputs.begin(); value != inputs.end(); ++value) {
    operands.push_back(value == whole ? to.tensor(*value) : to.thin(*value));
  }
  return operands;
}

}  // namespace

OnnxTensors write_onnx(const Map& kind, const Node& node, OnnxWriter& to) {
  const ScalarFn& fn = *kind.fn;
  std::vector<std::string> operands = operands_of(node, to);
  const Dtype dtype = node.inputs.back().dtype();  // the first operand of a select is its condition
  const bool is_select = node.inputs.front().dtype() != dtype;
  if (fn.result == ResultRule::given) {
    return {to.cast(operands[0], dtype, kind.dtype)};
  }
  if (is_direct(fn, dtype, to.opset())) {
    const bool logical = kind.dtype != dtype || dtype == boolean;
    return {is_select || logical ? to.typed(fn.onnx.name, operands, dtype, {}, true)
                                 : to.typed(fn.onnx.name, operands, dtype)};
  }
  std::vector<Dtype> dtypes;
  for (size_t i = 0; i < operands.size(); ++i) {
    dtypes.push_back(node.inputs[i].dtype());
    operands[i] = to.cast(operands[i], dtypes[i], compute_dtype(dtypes[i]));
  }
  const Expr value = instantiate(fn, dtypes, kind.dtype);
  return {to.cast(write_expression(value, operands, to), value.dtype(), kind.dtype)};
}

}  // namespace tenon::exporter
