#include "schedule/draft/substituted.h"

#include "base/fail.h"

namespace tenon::schedule {

int Substituted::value(int id) {
  const auto known = known_.find(id);
  if (known != known_.end()) {
    return known->second;
  }
  const loops::Value before = draft_.value(id);  // the list grows
  const int after = std::visit([&](const auto& what) { return substituted(what, before); }, before.what);
  known_.emplace(id, after);
  return after;
}

loops::Affine Substituted::affine(loops::Affine at) const {
  for (const auto& [axis, place] : by_) {
    at = substitute(at, axis, place.at);
  }
  return at;
}

std::vector<loops::Bound> Substituted::inside(AxisSet axes) const {
  std::vector<loops::Bound> all;
  for (const auto& [axis, place] : by_) {
    if (contains(axes, axis)) {
      all.insert(all.end(), place.inside.begin(), place.inside.end());
    }
  }
  return all;
}

int Substituted::load(loops::Load load) {
  AxisSet axes = axes_of(load.at) | draft_.values.axes(load.inside);
  for (const loops::Lookup& lookup : load.lookups) {
    axes |= draft_.values.axes(lookup.value);
  }
  const std::vector<loops::Bound> also = inside(axes);
  load.at = affine(load.at);
  for (loops::Bound& bound : load.inside) {
    bound.index = affine(bound.index);
  }
  load.inside.insert(load.inside.end(), also.begin(), also.end());
  for (loops::Lookup& lookup : load.lookups) {
    lookup.value = value(lookup.value);
  }
  return draft_.values.load(std::move(load));
}

int Substituted::substituted(const loops::Position& position, const loops::Value&) {
  return draft_.values.position(affine(position.at));
}

int Substituted::substituted(const loops::Compute& compute, const loops::Value& before) {
  if (compute.operands.empty()) {
    return draft_.values.constant(before.dtype, compute.literal);
  }
  std::vector<int> operands;
  for (const int operand : compute.operands) {
    operands.push_back(value(operand));
  }
  return draft_.values.compute(compute.prim, before.dtype, std::move(operands));
}

int Substituted::substituted(const loops::Result&, const loops::Value&) {
  TENON_CHECK(false, "a result has its own loops");
}

}  // namespace tenon::schedule
