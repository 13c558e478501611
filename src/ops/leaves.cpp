// Input, Constant and Iota: what a graph starts from.
#include <atomic>

#include "base/fail.h"
#include "ops/make.h"
#include "tenon/ops.h"

namespace tenon {

Inferred infer(const Input& op, Operands) {
  if (op.name.empty()) {
    fail("an input needs a name");
  }
  for (const Axis& axis : op.shape.axes()) {
    TENON_CHECK(!axis.is_anonymous(), "input {}", op.name);
  }
  return {{op.shape}};
}

Value attached_input(std::string name, const Shape& shape, std::shared_ptr<void> attached) {
  static std::atomic<uint64_t> next_id = 1;
  std::vector<Axis> axes;
  for (int i = 0; i < shape.rank(); ++i) {
    const Axis& axis = shape.axis(i);
    axes.push_back(axis.is_anonymous() ? Axis(Extent::name(fmt::format("{}.{}", name, i))) : axis);
  }
  return make(Input{.name = std::move(name),
                    .shape = shape.with_axes(std::move(axes)),
                    .id = next_id++,
                    .attached = std::move(attached)},
              {});
}

Value input(std::string name, const Shape& shape) { return attached_input(std::move(name), shape, nullptr); }

Inferred infer(const Constant& op, Operands) {
  std::vector<Axis> axes(op.value.dims().begin(), op.value.dims().end());
  return {{Shape(op.value.dtype(), std::move(axes))}};
}

Value constant(Array value) { return make(Constant{std::move(value)}, {}); }

Value scalar(Dtype dtype, double value) { return constant(Array::scalar(dtype, value)); }

Value full(const Shape& shape, double number) { return broadcast(scalar(shape.dtype(), number), shape.axes(), {}); }

Inferred infer(const Iota& op, Operands) {
  if (op.shape.dtype() == Dtype::boolean) {
    fail("counts in numbers, not in bool");
  }
  if (op.shape.rank() > 0 && (op.axis < 0 || op.axis >= op.shape.rank())) {
    fail("axis {} is out of range for {}", op.axis, op.shape.to_string());
  }
  Inferred result{{op.shape}};
  for (const Axis& axis : op.shape.axes()) {
    result.constraints.push_back({.kind = Constraint::Kind::at_least, .lhs = axis.extent(), .rhs = 0});
  }
  return result;
}

Value iota(const Shape& shape, int axis, const Extent& start, const Extent& step) {
  const int normal = shape.rank() == 0 ? 0 : shape.normalize_axis(axis);
  return make(Iota{.shape = shape, .axis = normal, .start = start, .step = step}, {});
}

Value extent_value(const Extent& extent, Dtype dtype) {
  if (const auto known = extent.constant()) {
    return constant(Array::from<int64_t>({}, {*known}).cast(dtype));
  }
  return iota(Shape(dtype, {}), 0, extent);
}

}  // namespace tenon
