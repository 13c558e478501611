// Reductions, scans, sorting.
#include <limits>

#include "base/dtype_visit.h"
#include "base/fail.h"
#include "onnx/export/export_types.h"
#include "onnx/export/export_writer.h"

namespace tenon::exporter {
namespace {

/// The operator that combines all elements along axes; these are an operand of sums since opset 13, of all since 18.
std::string reduce(std::string_view op, const std::string& x, Dtype dtype, const std::vector<int64_t>& axes,
                   OnnxWriter& to) {
  if (axes.empty()) {
    return x;
  }
  const Dtype carrier = to.carrier(op, dtype);
  const std::string carried = to.cast(x, dtype, carrier);
  const bool by_operand = op == "ReduceSum" || to.opset() >= 18;
  const std::string result = by_operand ? to.node(op, {carried, to.ints(axes)}, {{"keepdims", int64_t{0}}})
                                        : to.node(op, {carried}, {{"axes", axes}, {"keepdims", int64_t{0}}});
  if (carrier != dtype && (op == "ReduceMax" || op == "ReduceMin")) {
    // The extremum of nothing is that of the narrow type.
    const bool max = op == "ReduceMax";
    const double none = onnx_identity(max ? ReduceOp::max : ReduceOp::min, dtype);
    const std::string bound = to.scalar(carrier, none);
    return to.cast(to.node(max ? "Max" : "Min", {result, bound}), carrier, dtype);
  }
  return to.cast(result, carrier, dtype);
}

std::string_view reduction(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum: return "ReduceSum";
    case ReduceOp::product: return "ReduceProd";
    case ReduceOp::max: return "ReduceMax";
    case ReduceOp::min: return "ReduceMin";
    case ReduceOp::any:
    case ReduceOp::all: break;
    case ReduceOp::argmax: return "ArgMax";
    case ReduceOp::argmin: return "ArgMin";
  }
  return "";
}

/// Every element reduces what stands before it: over a square of the axis and itself, masked. There is no operator for
/// running products and extrema.
std::string masked_scan(const Scan& kind, const std::string& x, const Shape& shape, OnnxWriter& to) {
  const Extent& length = shape.extent(kind.axis);
  const std::string line = to.node("Range", {to.scalar_size(0), to.scalar_size(length), to.scalar_size(1)});
  const std::string column = to.unsqueeze(line, {1});
  const char* test =
      kind.reverse ? (kind.exclusive ? "Greater" : "GreaterOrEqual") : (kind.exclusive ? "Less" : "LessOrEqual");
  std::string mask = to.node(test, {line, column});  // [result, element]
  std::vector<int64_t> behind;
  for (int64_t axis = kind.axis + 1; axis < shape.rank(); ++axis) {
    behind.push_back(axis - kind.axis + 1);
  }
  mask = to.unsqueeze(mask, behind);
  const std::string square = to.unsqueeze(x, {kind.axis});
  const std::string kept =
      to.node("Where", {mask, square, to.scalar(shape.dtype(), onnx_identity(kind.op, shape.dtype()))});
  return reduce(reduction(kind.op), kept, shape.dtype(), {kind.axis + 1}, to);
}

}  // namespace

double onnx_identity(ReduceOp op, Dtype dtype) {
  return visit_dtype(dtype, [&]<class T>() -> double {
    using Compute = ComputeType<T>;
    constexpr bool has_infinity = std::numeric_limits<Compute>::has_infinity;
    if (op == ReduceOp::max) {
      return has_infinity ? -std::numeric_limits<double>::infinity()
                          : static_cast<double>(std::numeric_limits<Compute>::lowest());
    }
    if (op == ReduceOp::min) {
      return has_infinity ? std::numeric_limits<double>::infinity()
                          : static_cast<double>(std::numeric_limits<Compute>::max());
    }
    return op == ReduceOp::product ? 1 : 0;
  });
}

OnnxTensors write_onnx(const Reduce& kind, const Node& node, OnnxWriter& to) {
  const std::string& x = to.tensor(node.inputs[0]);
  const Dtype dtype = node.inputs[0].dtype();
  if (is_arg(kind.op)) {
    return {
        to.typed(reduction(kind.op), {x}, dtype, {{"axis", int64_t{kind.axes[0]}}, {"keepdims", int64_t{0}}}, true)};
  }
  const std::vector<int64_t> axes(kind.axes.begin(), kind.axes.end());
  if (kind.op == ReduceOp::any || kind.op == ReduceOp::all) {
    // Counts: the extremum of nothing is left open there. All hold when none does not.
    const bool all = kind.op == ReduceOp::all;
    const std::string counted = to.cast(all ? to.node("Not", {x}) : x, boolean, i64);
    const std::string any = to.cast(reduce("ReduceSum", counted, i64, axes, to), i64, boolean);
    return {all ? to.node("Not", {any}) : any};
  }
  return {reduce(reduction(kind.op), x, dtype, axes, to)};
}

OnnxTensors write_onnx(const Scan& kind, const Node& node, OnnxWriter& to) {
  const std::string& x = to.tensor(node.inputs[0]);
  const Shape& shape = node.shapes[0];
  if (kind.op != ReduceOp::sum) {
    return {masked_scan(kind, x, shape, to)};
  }
  const Dtype carrier = to.carrier("CumSum", shape.dtype());
  const std::string sums = to.node("CumSum", {to.cast(x, shape.dtype(), carrier), to.scalar_size(kind.axis)},
                                   {{"exclusive", int64_t{kind.exclusive}}, {"reverse", int64_t{kind.reverse}}});
  return {to.cast(sums, carrier, shape.dtype())};
}

OnnxTensors write_onnx(const Sort& kind, const Node& node, OnnxWriter& to) {
  const Value& key = node.inputs[0];
  const Dtype carrier = to.carrier("TopK", key.dtype());
  const std::string count = to.size(key.extent(kind.axis));
  // Of equal elements the first comes first there too.
  const std::vector<std::string> top =
      to.nodes("TopK", {to.cast(to.tensor(key), key.dtype(), carrier), count}, 2,
               {{"axis", int64_t{kind.axis}}, {"largest", int64_t{kind.descending}}, {"sorted", int64_t{1}}});
  OnnxTensors outputs{to.cast(top[0], carrier, key.dtype())};
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    outputs.push_back(to.node("GatherElements", {to.tensor(node.inputs[i]), top[1]}, {{"axis", int64_t{kind.axis}}}));
  }
  return outputs;
}

}  // namespace tenon::exporter
