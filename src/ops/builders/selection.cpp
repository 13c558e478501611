// Positions of what is not 0, and what a mask keeps.
#include "tenon/selection.h"

#include "base/fail.h"
#include "base/refused.h"
#include "ir/node.h"
#include "ops/builders/selection.h"
#include "ops/make.h"
#include "tenon/indexing.h"

namespace tenon {
namespace {

/// The number that every element of x is, where that is seen at once.
std::optional<double> repeated_number(const Value& x) {
  const Node* node = &x.node();
  while (node->as<Broadcast>() != nullptr || node->as<Reshape>() != nullptr) {
    node = &node->inputs[0].node();
  }
  const auto* constant = node->as<Constant>();
  return constant != nullptr && constant->value.size() == 1 ? std::optional(constant->value.at(0)) : std::nullopt;
}

}  // namespace

std::string name_or_fresh(std::string_view name, std::string_view stem) {
  return name.empty() ? fresh_data_axis(stem) : std::string(name);
}

std::vector<Value> unravel(const Value& position, const std::vector<Axis>& axes) {
  std::vector<Value> indices(axes.size());
  Extent stride = 1;
  for (size_t i = axes.size(); i-- > 0;) {
    const Value step = stride == Extent(1) ? position : floor_div(position, extent_value(stride));
    indices[i] = i == 0 ? step : mod(step, extent_value(axes[i].extent()));
    stride *= axes[i].extent();
  }
  return indices;
}

Value coordinates(const Value& position, const std::vector<Axis>& axes) {
  return axes.empty() ? slice_axis(expand_dims(position, {0}), 0, 0, Extent(0)) : stack(unravel(position, axes));
}

Value nonzero(const Value& x, std::string_view axis) {
  return in_context("nonzero", {x}, [&] {
    // Models count by asking where a tensor of ones is not 0.
    if (const std::optional<double> number = repeated_number(x)) {
      return coordinates(iota(shape(Dtype::i64, *number != 0 ? x.shape().element_count() : Extent(0))),
                         x.shape().axes());
    }
    const Value mask = x.dtype() == Dtype::boolean ? x : ne(x, 0);
    return coordinates(positions(mask, name_or_fresh(axis, "nonzero")).positions, x.shape().axes());
  });
}

Value compress(const Value& x, const Value& mask, int axis, std::string_view name) {
  return in_context("compress", {x, mask}, [&] {
    const int along = x.shape().normalize_axis(axis);
    if (mask.rank() != 1) {
      refuse("the mask has rank {}, must have 1", mask.rank());
    }
    if (decide({Constraint::Kind::at_least, x.extent(along), mask.extent(0)}) == Verdict::fails) {
      refuse("the mask has {} elements, more than axis {} of x, which has {}", mask.shape().axis(0).to_string(), along,
             x.shape().axis(along).to_string());
    }
    return take(x, positions(mask, name_or_fresh(name, "compress")).positions, along);
  });
}

}  // namespace tenon
