#include "ops/composites/composite.h"

#include <algorithm>

#include "base/refused.h"
#include "ops/axes.h"
#include "ops/make.h"
#include "ops/needed_by.h"

namespace tenon {
namespace {

/// Run `build` on the stand-ins; whatever fails inside says which composite it was in.
template <class Build>
auto build_body(std::string_view name, const Parts& stand_ins, const std::vector<Value>& present, Build&& build) {
  try {
    return build(stand_ins);
  } catch (Error& error) {
    if (error.has_notes()) {
      if (NeededBy::name(name) == name) {
        error.note(fmt::format("in {}", name));
      }
      throw;
    }
    rethrow_with_context(error, name, {}, present);
  }
}

}  // namespace

std::vector<Value> composites_of(std::string_view name, const std::vector<NamedPart>& parts,
                                 const std::function<std::vector<Output>(const Parts&)>& build) {
  Parts stand_ins;
  std::vector<Value> parameters;
  std::vector<Value> operands;
  for (const NamedPart& part : parts) {
    stand_ins.push_back(part.value ? input(std::string(part.name), part.value.shape()) : Value());
    if (part.value) {
      parameters.push_back(stand_ins.back());
      operands.push_back(part.value);
    }
  }
  std::vector<Output> outputs = build_body(name, stand_ins, parameters, build);
  return call(Graph(std::string(name), parameters, std::move(outputs)), operands);
}

Value composite_of(std::string_view name, const std::vector<NamedPart>& parts,
                   const std::function<Value(const Parts&)>& build) {
  return composites_of(name, parts, [&](const Parts& v) -> std::vector<Output> { return {{"y", build(v)}}; }).front();
}

Value composite(std::string name, const std::vector<Value>& operands,
                const std::function<Value(const std::vector<Value>&)>& build) {
  return composites(std::move(name), operands,
                    [&](const std::vector<Value>& v) -> std::vector<Output> { return {{"y", build(v)}}; })
      .front();
}

std::vector<Value> composites(std::string name, const std::vector<Value>& operands,
                              const std::function<std::vector<Output>(const std::vector<Value>&)>& build) {
  std::vector<std::string> names;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i]) {
      refuse("{}: operand {} is an empty Value", name, i);
    }
    names.push_back(fmt::format("x{}", i));
  }
  std::vector<NamedPart> parts;
  for (size_t i = 0; i < operands.size(); ++i) {
    parts.push_back({names[i], operands[i]});
  }
  return composites_of(name, parts, build);
}

Value widen(const Value& x) { return cast(x, compute_dtype(x.dtype())); }

void require_float(const Value& x, std::string_view what) {
  if (!x) {
    refuse("`{}` is an empty Value", what);
  }
  if (!is_float(x.dtype())) {
    refuse("`{}` is {}, must be a float", what, name(x.dtype()));
  }
}

Axes reduced_axes(const Axes& axes, const Shape& shape) {
  Axes result = axes.empty() ? other_axes(shape.rank(), {}) : normalize_axes(axes, shape);
  std::ranges::sort(result);
  return result;
}

Value along_axes(const Value& parameter, int rank, const Axes& axes, std::string_view what) {
  if (parameter.rank() != static_cast<int>(axes.size())) {
    refuse("`{}` has rank {}, must have {} for the axes it belongs to", what, parameter.rank(), axes.size());
  }
  return expand_dims(parameter, other_axes(rank, axes));
}

}  // namespace tenon
