// If and Loop: what conditionals and loops give.
#include <algorithm>

#include "base/refused.h"
#include "ops/axes.h"
#include "ops/infer.h"

namespace tenon {
namespace {

void require_parameter(const Graph& body, size_t parameter, const Shape& given) {
  const Shape& wanted = body.inputs()[parameter].shape();
  if (wanted != given) {
    refuse("`{}` takes {} as input {}, not {}", body.name(), wanted.to_string(), parameter, given.to_string());
  }
}

void require_parameter_count(const Graph& body, size_t given) {
  if (body.inputs().size() != given) {
    refuse("`{}` takes {} inputs, not {}", body.name(), body.inputs().size(), given);
  }
}

/// `a` and `b` must have one shape, as far as that can be known now; `explain(detail)` raises the error.
template <class Explain>
void match_shapes(const Value& a, const Value& b, std::vector<Constraint>& constraints, Explain&& explain) {
  if (a.dtype() != b.dtype() || a.rank() != b.rank()) {
    explain();
  }
  for (int i = 0; i < a.rank(); ++i) {
    try {
      match_axes(a, i, b, i, constraints);
    } catch (const Refused&) {
      explain();
    }
  }
}

bool is_scalar(const Value& value, Dtype dtype) { return value.rank() == 0 && value.dtype() == dtype; }

const Value& output_of(const Graph& body, size_t i) { return body.outputs()[i].value; }

Shape without_first_axis(const Shape& shape) {
  return shape.with_axes(std::vector<Axis>(shape.axes().begin() + 1, shape.axes().end()));
}

/// What the body of a loop must take: the iteration, carried values, elements of scanned ones, the rest.
void check_loop_inputs(const Loop& op, Operands in, Inferred& result) {
  const auto carried = static_cast<size_t>(op.carried);
  const auto scanned = static_cast<size_t>(op.scanned);
  if (op.carried < 0 || op.scanned < 0 || carried + scanned > in.size()) {
    refuse("has {} carried and {} scanned values among {} operands", op.carried, op.scanned, in.size());
  }
  refuse_data_axes(op.body);
  require_parameter_count(op.body, 1 + in.size());
  require_parameter(op.body, 0, Shape(Dtype::i64, {}));
  for (size_t i = 0; i < in.size(); ++i) {
    if (i < carried || i >= carried + scanned) {
      require_parameter(op.body, 1 + i, in[i].shape());
      continue;
    }
    if (in[i].rank() == 0) {
      refuse("scanned value {} ({}) has no axis to scan", i - carried, describe(in[i]));
    }
    if (compare(in[i].extent(0), op.trips) == Comparison::different) {
      refuse("scanned value {} ({}) has {} elements along axis 0 for {} trips", i - carried, describe(in[i]),
             in[i].shape().axis(0).to_string(), op.trips.to_string());
    }
    result.constraints.push_back({.kind = Constraint::Kind::equal, .lhs = in[i].extent(0), .rhs = op.trips});
    require_parameter(op.body, 1 + i, without_first_axis(in[i].shape()));
  }
}

}  // namespace

Inferred infer(const If& op, Operands in) {
  if (!is_scalar(in[0], Dtype::boolean)) {
    refuse("the condition is {}, must be bool[]", in[0].shape().to_string());
  }
  for (const Graph* body : {&op.then_body, &op.else_body}) {
    refuse_data_axes(*body);
    require_parameter_count(*body, in.size() - 1);
    for (size_t i = 1; i < in.size(); ++i) {
      require_parameter(*body, i - 1, in[i].shape());
    }
  }
  const size_t count = op.then_body.outputs().size();
  if (count == 0 || count != op.else_body.outputs().size()) {
    refuse("`{}` gives {} values and `{}` {}; both must give the same, at least one", op.then_body.name(), count,
           op.else_body.name(), op.else_body.outputs().size());
  }
  Inferred result;
  for (size_t i = 0; i < count; ++i) {
    const Value& a = output_of(op.then_body, i);
    const Value& b = output_of(op.else_body, i);
    match_shapes(a, b, result.constraints, [&] {
      refuse("value {} is {} from `{}` and {} from `{}`; both must have one shape", i, a.shape().to_string(),
             op.then_body.name(), b.shape().to_string(), op.else_body.name());
    });
    result.shapes.push_back(a.shape());
  }
  return result;
}

Inferred infer(const Loop& op, Operands in) {
  Inferred result;
  result.constraints.push_back({.kind = Constraint::Kind::at_least, .lhs = op.trips, .rhs = 0});
  check_loop_inputs(op, in, result);
  const size_t carried = static_cast<size_t>(op.carried);
  const size_t first = op.conditional ? 1 : 0;
  const size_t count = op.body.outputs().size();
  if (count < first + carried || (op.conditional && count != first + carried)) {
    refuse("`{}` gives {} values; {}{} carried ones are needed{}", op.body.name(), count,
           op.conditional ? "a condition and " : "", carried, op.conditional ? " and no others" : "");
  }
  if (op.conditional && !is_scalar(output_of(op.body, 0), Dtype::boolean)) {
    refuse("`{}` gives {} to say whether to go on, must be bool[]", op.body.name(),
           output_of(op.body, 0).shape().to_string());
  }
  for (size_t i = 0; i < carried; ++i) {
    const Value& next = output_of(op.body, first + i);
    match_shapes(in[i], next, result.constraints, [&] {
      refuse("carried value {} ({}) is {} and becomes {} after a trip; the shapes of carried values stay the same", i,
             describe(in[i]), in[i].shape().to_string(), next.shape().to_string());
    });
    result.shapes.push_back(in[i].shape());
  }
  for (size_t i = first + carried; i < count; ++i) {
    const Shape& element = output_of(op.body, i).shape();
    std::vector<Axis> axes = element.axes();
    axes.insert(axes.begin(), Axis(op.trips));
    result.shapes.push_back(element.with_axes(std::move(axes)));
  }
  if (result.shapes.empty()) {
    refuse("carries nothing and stacks nothing");
  }
  return result;
}

}  // namespace tenon
