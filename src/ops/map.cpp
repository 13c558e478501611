// Map: one row of the scalar table, element by element.
#include "base/convert.h"
#include "base/refused.h"
#include "ops/axes.h"
#include "ops/make.h"
#include "ops/scalar/scalar_table.h"
#include "shape/unify.h"
#include "tenon/ops.h"

namespace tenon {
namespace {

/// The condition of a select is the one operand that is not of the common dtype.
bool is_condition(const ScalarFn& fn, size_t operand) {
  return fn.arity == 3 && fn.domain == Domain::any && operand == 0;
}

void check_dtypes(const ScalarFn& fn, Operands in) {
  const size_t common = is_condition(fn, 0) ? 1 : 0;
  for (size_t i = 0; i < in.size(); ++i) {
    const Dtype dtype = in[i].dtype();
    if (is_condition(fn, i)) {
      if (dtype != Dtype::boolean) {
        refuse("the condition is {}, must be bool", name(dtype));
      }
    } else if (!contains(fn.domain, dtype)) {
      refuse("operand {} is {}, must be {}", i, name(dtype), describe(fn.domain));
    } else if (dtype != in[common].dtype()) {
      refuse("operands are {} and {}; cast one of them", name(in[common].dtype()), name(dtype));
    }
  }
}

/// Whether `x` must be repeated to have the axes `to`. Axes that are merely not known to be equal are not repeated:
/// Map matches those, with a check when bound.
bool needs_broadcast(const Shape& x, const std::vector<Axis>& to) {
  if (x.axes().size() != to.size()) {
    return true;
  }
  for (size_t i = 0; i < to.size(); ++i) {
    const Axis& from = x.axes()[i];
    if (from.extent() == to[i].extent()) {
      continue;
    }
    const bool one = from.extent() == Extent(1);
    const bool may_be_one = from.is_dynamic() &&
                            (to[i].extent().is_constant() || is_generated_name(from.name()) ||
                             never_exceeds(from.extent(), to[i].extent())) &&
                            (from.name().empty() || from.name() != to[i].name());
    if (one || may_be_one) {
      return true;
    }
  }
  return false;
}

/// `number` as a scalar of `dtype`. An integer dtype must hold it exactly: x * 0.5 on integers is not x * 0.
Value literal(const ScalarFn& fn, Dtype dtype, double number) {
  const Array value = Array::scalar(dtype, number);
  if (!is_float(dtype) && value.at(0) != number) {
    refuse("{}: {} is no {}; cast the other operand, or give a number that it holds", fn.name, number, name(dtype));
  }
  return constant(value);
}

std::vector<Value> as_values(const ScalarFn& fn, const std::vector<Operand>& operands) {
  std::optional<Dtype> dtype;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (const Value* value = operands[i].value(); value != nullptr && *value && !is_condition(fn, i) && !dtype) {
      dtype = value->dtype();
    }
  }
  std::vector<Value> values;
  for (const Operand& operand : operands) {
    if (operand.value() == nullptr && !dtype) {
      refuse("{}: at least one operand must be a Value, to give the numbers a dtype", fn.name);
    }
    values.push_back(operand.value() != nullptr ? *operand.value() : literal(fn, *dtype, operand.number()));
  }
  return values;
}

}  // namespace

Dtype result_dtype(const ScalarFn& fn, Operands in) {
  switch (fn.result) {
    case ResultRule::logical: return Dtype::boolean;
    case ResultRule::bits: return reinterpreted(in.back().dtype());
    default: return in.back().dtype();
  }
}

double Operand::exact_number(int64_t number, bool in_range) {
  const auto exact = static_cast<double>(number);
  if (!in_range || convert<int64_t>(exact) != number) {
    refuse("{} is too large to be a number beside a Value; make it a constant()", number);
  }
  return exact;
}

Inferred infer(const Map& op, Operands in) {
  const ScalarFn& fn = *op.fn;
  if (in.size() != static_cast<size_t>(fn.arity)) {
    refuse("takes {} operand{}, not {}", fn.arity, fn.arity == 1 ? "" : "s", in.size());
  }
  check_dtypes(fn, in);
  if (fn.result != ResultRule::given && op.dtype != result_dtype(fn, in)) {
    refuse("gives {}, not {}", name(result_dtype(fn, in)), name(op.dtype));
  }
  Inferred result;
  std::vector<Axis> axes = in[0].shape().axes();
  for (size_t k = 1; k < in.size(); ++k) {
    if (in[k].rank() != in[0].rank()) {
      refuse("operands have ranks {} and {}", in[0].rank(), in[k].rank());
    }
    for (int i = 0; i < in[k].rank(); ++i) {
      const Axis matched = match_axes(in[0], i, in[k], i, result.constraints);
      Axis& axis = axes[static_cast<size_t>(i)];
      axis = axis.is_dynamic() || axis.name().empty() ? matched : axis;
    }
  }
  result.shapes = {Shape(op.dtype, std::move(axes))};
  return result;
}

Value map(std::string_view function, const std::vector<Operand>& operands) {
  const ScalarFn* fn = find_scalar_fn(function);
  if (fn == nullptr) {
    refuse("there is no elementwise function called `{}`", function);
  }
  std::vector<Value> values = as_values(*fn, operands);
  for (const Value& value : values) {
    if (!value) {
      refuse("{}: an operand is an empty Value", fn->name);
    }
  }
  return in_context(fn->name, values, [&] {
    if (values.size() != static_cast<size_t>(fn->arity)) {
      refuse("takes {} operand{}, not {}", fn->arity, fn->arity == 1 ? "" : "s", values.size());
    }
    check_dtypes(*fn, values);
    std::vector<std::vector<Axis>> lists;
    for (const Value& value : values) {
      lists.push_back(value.shape().axes());
    }
    const std::vector<Axis> axes = broadcast_lists(lists);
    std::vector<Value> aligned;
    for (const Value& value : values) {
      aligned.push_back(needs_broadcast(value.shape(), axes) ? broadcast_to(value, axes) : value);
    }
    return make(Map{.fn = fn, .dtype = result_dtype(*fn, values)}, std::move(aligned));
  });
}

Value cast(const Value& x, Dtype dtype) {
  return x && x.dtype() == dtype ? x : make(Map{.fn = &scalar_fn("cast"), .dtype = dtype}, {x});
}

}  // namespace tenon
