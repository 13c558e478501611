#include "passes/rewriting/match.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/axes.h"
#include "passes/rewriting/merge_views.h"
#include "passes/rewriting/uniform.h"

namespace tenon::passes::match {
namespace {

constexpr int kMostFactors = 8;

const std::vector<Value>* operands_of_row(const Value& value, std::string_view row) {
  const auto* map = value.node().as<Map>();
  return map != nullptr && map->fn->name == row ? &value.node().inputs : nullptr;
}

Seen peeled(Seen seen) {
  while (true) {
    const Node& node = seen.value.node();
    std::vector<int> inner;
    if (const auto* spread = node.as<Broadcast>()) {
      inner = spread->axes;
    } else if (const auto* reshaped = node.as<Reshape>()) {
      const auto kept = kept_axes(node.inputs[0].shape(), reshaped->to);
      if (!kept) {
        return seen;
      }
      inner = *kept;
    } else if (operands_of_row(seen.value, "stop_gradient") != nullptr) {
      inner = other_axes(seen.value.rank(), {});
    } else {
      return seen;
    }
    for (int& place : inner) {
      place = place == -1 ? -1 : seen.places[static_cast<size_t>(place)];
    }
    seen = {.value = node.inputs[0], .places = std::move(inner)};
  }
}

/// `seen` is the number of elements that a mean over `axes` of x divides by.
bool is_count(const Value& seen, const Value& x, const Axes& axes) {
  Extent count = 1;
  for (const int axis : axes) {
    count *= x.extent(axis);
  }
  if (const auto* extent = look(seen).value.node().as<Iota>()) {
    return extent->shape.rank() == 0 && extent->start == count;
  }
  return count.is_constant() && is_number(seen, static_cast<double>(*count.constant()));
}

bool is_reciprocal_count(const Value& seen, const Value& x, const Axes& axes) {
  double count = 1;
  for (const int axis : axes) {
    count *= x.extent(axis).is_constant() ? static_cast<double>(*x.extent(axis).constant())
                                          : std::numeric_limits<double>::quiet_NaN();
  }
  return count > 0 && is_number(seen, 1 / count);
}

Value without_cast(const Value& value) {
  const std::vector<Value>* inner = operands_of_row(value, "cast");
  return inner != nullptr ? inner->front() : value;
}

void multiply(Factors& product, const Value& value, const Value& stop, int depth) {
  const auto* quotient = map_of(value, "div");
  if (const auto number = uniform_number(value)) {
    product.number *= *number;
  } else if (value == stop || depth == 0) {
    product.values.push_back(value);
  } else if (const auto* operands = map_of(value, "mul")) {
    multiply(product, (*operands)[0], stop, depth - 1);
    multiply(product, (*operands)[1], stop, depth - 1);
  } else if (quotient != nullptr && uniform_number((*quotient)[1])) {
    multiply(product, (*quotient)[0], stop, depth - 1);
    product.number /= *uniform_number((*quotient)[1]);
  } else if (const auto* root = map_of(value, "square")) {
    multiply(product, (*root)[0], stop, depth - 1);
    multiply(product, (*root)[0], stop, depth - 1);
  } else if (const auto* power = map_of(value, "pow");
             power != nullptr && (is_number((*power)[1], 2) || is_number((*power)[1], 3))) {
    for (int i = is_number((*power)[1], 2) ? 2 : 3; i > 0; --i) {
      multiply(product, (*power)[0], stop, depth - 1);
    }
  } else {
    product.values.push_back(value);
  }
}

}  // namespace

Seen look(const Value& spread) { return peeled({.value = spread, .places = other_axes(spread.rank(), {})}); }

const std::vector<Value>* map_of(const Value& value, std::string_view row) { return operands_of_row(value, row); }

std::vector<Seen> map_of(const Seen& seen, std::string_view row) {
  std::vector<Seen> result;
  if (const std::vector<Value>* operands = operands_of_row(seen.value, row)) {
    for (const Value& operand : *operands) {
      result.push_back(peeled({.value = operand, .places = seen.places}));
    }
  }
  return result;
}

std::vector<std::pair<Value, Value>> commuted(const Value& value, std::string_view row) {
  const std::vector<Value>* operands = map_of(value, row);
  return operands != nullptr ? either_order(*operands) : std::vector<std::pair<Value, Value>>{};
}

bool is_near(double a, double b, Dtype dtype) {
  const double rounding = dtype == Dtype::f16 ? 1e-3 : dtype == Dtype::bf16 ? 1e-2 : 1e-6;
  return std::fabs(a - b) <= rounding * std::fabs(b);
}

bool is_number(const Value& value, double number) {
  const std::optional<double> found = uniform_number(value);
  return found && is_near(*found, number, value.dtype());
}

std::optional<Reduced> reduced(const Seen& seen, ReduceOp op) {
  const auto* reduce = seen.value.node().as<Reduce>();
  if (reduce == nullptr || reduce->op != op) {
    return std::nullopt;
  }
  const Value& of = seen.value.node().inputs[0];
  if (seen.places != other_axes(of.rank(), reduce->axes)) {
    return std::nullopt;
  }
  return Reduced{.of = of, .axes = reduce->axes};
}

std::optional<Reduced> mean(const Seen& seen) {
  if (const std::vector<Seen> wide = map_of(seen, "cast"); !wide.empty()) {
    std::optional<Reduced> found = mean(wide[0]);
    if (!found || without_cast(found->of).dtype() != seen.value.dtype()) {
      return std::nullopt;
    }
    return Reduced{.of = without_cast(found->of), .axes = found->axes};
  }
  if (const std::vector<Seen> quotient = map_of(seen, "div"); !quotient.empty()) {
    const std::optional<Reduced> sum = reduced(quotient[0], ReduceOp::sum);
    return sum && is_count(quotient[1].value, sum->of, sum->axes) ? sum : std::nullopt;
  }
  for (const auto& [total, factor] : either_order(map_of(seen, "mul"))) {
    const std::optional<Reduced> sum = reduced(total, ReduceOp::sum);
    if (sum && is_reciprocal_count(factor.value, sum->of, sum->axes)) {
      return sum;
    }
  }
  return std::nullopt;
}

std::optional<Value> squared(const Value& value) {
  if (const auto* operands = map_of(value, "square")) {
    return (*operands)[0];
  }
  if (const auto* operands = map_of(value, "mul"); operands != nullptr && (*operands)[0] == (*operands)[1]) {
    return (*operands)[0];
  }
  const auto* operands = map_of(value, "pow");
  return operands != nullptr && is_number((*operands)[1], 2) ? std::optional((*operands)[0]) : std::nullopt;
}

Factors factors(const Value& value, const Value& stop) {
  Factors product;
  multiply(product, value, stop, kMostFactors);
  return product;
}

std::optional<Value> parameter(const Value& spread, const Axes& axes) {
  const Seen seen = look(spread);
  Axes places;
  for (int i = 0; i < seen.value.rank(); ++i) {
    const int place = seen.places[static_cast<size_t>(i)];
    if (std::ranges::find(axes, place) != axes.end() && seen.value.extent(i) == spread.extent(place)) {
      places.push_back(place);
    } else if (seen.value.extent(i) != Extent(1)) {
      return std::nullopt;
    }
  }
  return places == axes ? std::optional(seen.value) : std::nullopt;
}

Value parameter_along(const Value& source, const Shape& shape, const Axes& axes) {
  if (source.rank() == static_cast<int>(axes.size())) {
    return source;
  }
  std::vector<Axis> to;
  for (const int axis : axes) {
    to.push_back(shape.axis(axis));
  }
  return reshape(source, to);
}

}  // namespace tenon::passes::match
