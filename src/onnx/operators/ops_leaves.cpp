// Operators that make tensors from numbers and sizes.
#include <algorithm>
#include <cmath>

#include "base/fail.h"
#include "onnx/import/registry.h"
#include "tenon/indexing.h"

namespace tenon::importer {
namespace {

constexpr double kLongestTable = 1 << 24;

template <class T, class From>
Value list_constant(const std::vector<From>& list) {
  return constant(Array::from<T>({static_cast<int64_t>(list.size())}, std::vector<T>(list.begin(), list.end())));
}

Results constant_tensor(const NodeCall& call) {
  if (call.has_attribute("value_float")) {
    return scalar(Dtype::f32, call.number_attribute("value_float", 0));
  }
  if (call.has_attribute("value_int")) {
    return constant(Array::from<int64_t>({}, {call.attribute("value_int")}));
  }
  if (call.has_attribute("value_floats")) {
    std::vector<float> numbers;
    for (const double number : call.numbers_attribute("value_floats")) {
      numbers.push_back(static_cast<float>(number));
    }
    return list_constant<float>(numbers);
  }
  if (call.has_attribute("value_ints")) {
    return list_constant<int64_t>(call.list_attribute("value_ints"));
  }
  if (call.has_attribute("value")) {
    return constant(call.array_attribute("value"));
  }
  fail("constants that are strings or sparse are not supported");
}

Results constant_of_shape(const NodeCall& call) {
  const Array value = call.has_attribute("value") ? call.array_attribute("value") : Array::scalar(Dtype::f32, 0);
  if (value.size() != 1) {
    fail("the value has {} elements, must have one", value.size());
  }
  return broadcast_to(constant(value.reshaped({})), to_shape_axes(call.extents(0)));
}

Results float_range(const NodeCall& call) {
  const double start = call.number(0);
  const double limit = call.number(1);
  const double delta = call.number(2);
  const double count = std::max(0.0, std::ceil((limit - start) / delta));
  if (!(count <= kLongestTable)) {
    fail("a range from {} to {} by {} is too long", start, limit, delta);
  }
  const Dtype dtype = call.x(0).dtype();
  const Value steps = iota(shape(dtype, static_cast<int64_t>(count)), 0);
  return steps * delta + start;
}

Results range(const NodeCall& call) {
  if (is_float(call.x(0).dtype())) {
    return float_range(call);
  }
  const int64_t step = call.integer(2);
  if (step == 0) {
    fail("the step is 0");
  }
  return cast(arange(call.extent(0), call.extent(1), step), call.x(0).dtype());
}

Results eye_like(const NodeCall& call) {
  const Value& x = call.x(0);
  if (x.rank() != 2) {
    fail("the input has {} axes, must have 2", x.rank());
  }
  return eye(x.extent(0), x.extent(1), call.attribute("k", 0), call.dtype_attribute("dtype", x.dtype()));
}

Results triangle(const NodeCall& call) {
  const Extent k = call.has(1) ? call.extent(1) : Extent(0);
  return call.flag("upper", true) ? triu(call.x(0), k) : tril(call.x(0), k);
}

}  // namespace

std::vector<OperatorEntry> leaf_operators() {
  return {
      {"", "Constant", 1, constant_tensor},
      {"", "ConstantOfShape", 9, constant_of_shape},
      {"", "Range", 11, range},
      {"", "EyeLike", 9, eye_like},
      {"", "Trilu", 14, triangle},
  };
}

}  // namespace tenon::importer
