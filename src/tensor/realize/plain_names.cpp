#include "tensor/realize/plain_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "ir/data_axes.h"
#include "tenon/ops.h"
#include "tensor/record/symbols.h"

namespace tenon::tensors {
namespace {

using Labels = std::set<std::string, std::less<>>;

/// Labels of the leaves, under the new names, that must not stay: a label binds its name as a bare name does.
Labels ambiguous_labels(const Pending& pending, const passes::Substitution& by) {
  Labels ambiguous;
  for (const auto& [name, extent] : by) {
    if (const auto plain = extent.as_name()) {
      ambiguous.insert(*plain);
    }
  }
  std::map<std::string, Extent> sizes;
  for (size_t i = 0; i < pending.leaves().size(); ++i) {
    const Shape shape = pending.leaf(i).shape().substitute(by);
    for (const Axis& axis : shape.axes()) {
      if (!axis.label().empty() && sizes.try_emplace(axis.label(), axis.extent()).first->second != axis.extent()) {
        ambiguous.insert(axis.label());
      }
    }
  }
  return ambiguous;
}

Shape without_labels(const Shape& shape, const Labels& labels) {
  std::vector<Axis> axes = shape.axes();
  for (Axis& axis : axes) {
    if (labels.contains(axis.label())) {
      axis = Axis(axis.extent());
    }
  }
  return {shape.dtype(), std::move(axes)};
}

}  // namespace

std::vector<std::string> names_of(const Pending& pending) {
  std::vector<std::string> names;
  AxisNames seen;
  for (const Entry& entry : pending.entries()) {
    AxisNames found = needed_axes(entry.value.node());
    if (const std::string bound = bound_axis(entry.value.node()); !bound.empty()) {
      found.insert(bound);
    }
    std::ranges::copy_if(found, std::back_inserter(names),
                         [&](const std::string& name) { return seen.insert(name).second; });
  }
  return names;
}

passes::Substitution plain_names(const std::vector<std::string>& names) {
  std::map<std::string, int> uses;
  passes::Substitution by;
  for (const std::string& name : names) {
    const auto info = symbol_info(name);
    const std::string base = info ? info->base : "found";
    const int use = ++uses[base];
    by.emplace(name, Extent::name(use == 1 ? base : fmt::format("{}_{}", base, use)));
  }
  return by;
}

passes::Substitution known_sizes(const std::vector<std::string>& names) {
  passes::Substitution by;
  for (const std::string& name : names) {
    if (const auto info = symbol_info(name)) {
      by.emplace(name, Extent(info->size));
    }
  }
  return by;
}

std::map<std::string, int64_t, std::less<>> plain_sizes(const passes::Substitution& by) {
  std::map<std::string, int64_t, std::less<>> sizes;
  for (const auto& [name, extent] : by) {
    const auto plain = extent.as_name();
    const auto info = symbol_info(name);
    if (plain && info) {
      sizes.emplace(*plain, info->size);
    }
  }
  return sizes;
}

Pending with_names(const Pending& pending, const passes::Substitution& by) {
  return with_names(pending, by, [](size_t i, const Shape& shape) { return input(fmt::format("x{}", i), shape); });
}

Pending with_names(const Pending& pending, const passes::Substitution& by, const Pending::LeafMaker& leaf) {
  const Labels ambiguous = ambiguous_labels(pending, by);
  return pending.remade([&](const Shape& shape) { return without_labels(shape.substitute(by), ambiguous); },
                        [&](const Op& op) { return by.empty() ? op : passes::substitute(op, by); }, leaf);
}

}  // namespace tenon::tensors
