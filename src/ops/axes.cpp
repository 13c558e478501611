#include "ops/axes.h"

#include <algorithm>
#include <iterator>

#include "base/refused.h"
#include "shape/unify.h"

namespace tenon {
namespace {

NameRule name_rule() { return build_context().unify_names ? NameRule::unify : NameRule::strict; }

}  // namespace

std::string describe(const Value& value) {
  const auto* in = value.node().as<Input>();
  if (in == nullptr) {
    return fmt::format("the result of {}", op_name(value.node().op));
  }
  return in->attached ? value.shape().to_string() : fmt::format("`{}`", in->name);
}

Axis match_axes(const Value& a, int i, const Value& b, int j, std::vector<Constraint>& constraints) {
  const Axis& left = a.shape().axis(i);
  const Axis& right = b.shape().axis(j);
  if (left.extent().is_constant() && right.extent().is_constant() && left.extent() != right.extent()) {
    if (!left.name().empty() && left.name() == right.name()) {
      refuse("axis `{}` is {} on the left, {} on the right", left.name(), left.extent().to_string(),
             right.extent().to_string());
    }
    refuse("axis {} of {} is {}, axis {} of {} is {}", i, describe(a), left.extent().to_string(), j, describe(b),
           right.extent().to_string());
  }
  Unified unified = unify(left, right, name_rule());
  for (Constraint& constraint : unified.constraints) {
    constraints.push_back(std::move(constraint));
  }
  return unified.axis;
}

std::vector<Axis> broadcast_lists(const std::vector<std::vector<Axis>>& lists) {
  size_t rank = 0;
  for (const auto& axes : lists) {
    rank = std::max(rank, axes.size());
  }
  std::vector<Axis> result(rank, Axis(1));
  for (const auto& axes : lists) {
    const size_t offset = rank - axes.size();
    for (size_t i = 0; i < axes.size(); ++i) {
      result[offset + i] = broadcast_axes(result[offset + i], axes[i], name_rule()).axis;
    }
  }
  return result;
}

std::vector<int> normalize_axes(const std::vector<int>& axes, const Shape& shape) {
  std::vector<int> result;
  result.reserve(axes.size());
  for (const int axis : axes) {
    const int normal = shape.normalize_axis(axis);
    if (std::ranges::find(result, normal) != result.end()) {
      refuse("axis {} is listed twice", axis);
    }
    result.push_back(normal);
  }
  return result;
}

std::vector<int> other_axes(int n, const std::vector<int>& taken) { return other_axes(n, taken, {}); }

std::vector<int> other_axes(int n, const std::vector<int>& taken, const std::vector<int>& also_taken) {
  std::vector<int> result;
  for (int i = 0; i < n; ++i) {
    if (std::ranges::find(taken, i) == taken.end() && std::ranges::find(also_taken, i) == also_taken.end()) {
      result.push_back(i);
    }
  }
  return result;
}

void require_axes(const std::vector<int>& axes, const Shape& shape, std::string_view what) {
  std::vector<bool> seen(static_cast<size_t>(shape.rank()), false);
  for (const int axis : axes) {
    if (axis < 0 || axis >= shape.rank()) {
      refuse("{} {} is out of range for {}", what, axis, shape.to_string());
    }
    if (seen[static_cast<size_t>(axis)]) {
      refuse("{} {} is listed twice", what, axis);
    }
    seen[static_cast<size_t>(axis)] = true;
  }
}

std::vector<Extent> extents_of(const std::vector<Axis>& axes) {
  std::vector<Extent> extents;
  std::ranges::transform(axes, std::back_inserter(extents), &Axis::extent);
  return extents;
}

}  // namespace tenon
