// Inputs, constants, positions, random numbers; and what leaves values as they are.
#include "base/fail.h"
#include "onnx/export/export_writer.h"

namespace tenon::exporter {

OnnxTensors write_onnx(const Input& kind, const Node& /*node*/, OnnxWriter& /*to*/) {
  TENON_CHECK(false, "input `{}` was not defined before the nodes", kind.name);
}

OnnxTensors write_onnx(const Constant& kind, const Node& /*node*/, OnnxWriter& to) { return {to.constant(kind.value)}; }

OnnxTensors write_onnx(const Iota& kind, const Node& node, OnnxWriter& to) {
  const Shape& shape = node.shapes[0];
  if (shape.rank() == 0) {
    return {to.cast(to.scalar_size(kind.start), i64, shape.dtype())};
  }
  const Extent length = shape.extent(kind.axis);
  std::string line = to.node("Range", {to.scalar_size(0), to.scalar_size(length), to.scalar_size(1)});
  if (kind.step != Extent(1)) {
    line = to.node("Mul", {line, to.size(kind.step)});
  }
  if (kind.start != Extent(0)) {
    line = to.node("Add", {line, to.size(kind.start)});
  }
  line = to.cast(line, i64, shape.dtype());
  std::vector<int64_t> behind;  // axes behind its own; those before it need no name to broadcast
  for (int64_t axis = kind.axis + 1; axis < shape.rank(); ++axis) {
    behind.push_back(axis - kind.axis);
  }
  const std::string thin = to.unsqueeze(line, behind);
  to.define_thin(Value(&node, 0), thin);
  return {shape.rank() == 1 ? line : to.expand(thin, shape)};
}

OnnxTensors write_onnx(const Random& /*kind*/, const Node& /*node*/, OnnxWriter& /*to*/) {
  fail("random numbers that are a function of a key have no ONNX form");
}

OnnxTensors write_onnx(const Call& kind, const Node& /*node*/, OnnxWriter& /*to*/) {
  TENON_CHECK(false, "the call of `{}` was not inlined", kind.body.name());
}

OnnxTensors write_onnx(const Barrier& /*kind*/, const Node& node, OnnxWriter& to) {
  OnnxTensors outputs;
  for (const Value& operand : node.inputs) {
    outputs.push_back(to.tensor(operand));
  }
  return outputs;
}

}  // namespace tenon::exporter
