// Values of a draft at other positions: with something else in place of some of their loops.
#pragma once

#include <map>
#include <unordered_map>
#include <vector>

#include "schedule/draft/draft.h"

namespace tenon::schedule {

/// Values that are made of what lies in memory. A result of a reduction must be `known`.
class Substituted {
 public:
  /// What takes the place of a loop. Where `inside` does not hold, loads that ran over the loop read nothing.
  struct Place {
    loops::Affine at = {};
    std::vector<loops::Bound> inside = {};
  };

  Substituted(Draft& draft, std::map<int, Place> by, std::unordered_map<int, int> known = {})
      : draft_(draft), by_(std::move(by)), known_(std::move(known)) {}

  /// The value there.
  int value(int id);
  int load(loops::Load load);
  loops::Affine affine(loops::Affine at) const;
  /// What must hold for something that runs over these loops.
  std::vector<loops::Bound> inside(AxisSet axes) const;

 private:
  int substituted(const loops::Load& before, const loops::Value&) { return load(before); }
  int substituted(const loops::Position& position, const loops::Value& before);
  int substituted(const loops::Compute& compute, const loops::Value& before);
  int substituted(const loops::Result& result, const loops::Value& before);

  Draft& draft_;
  std::map<int, Place> by_;
  std::unordered_map<int, int> known_;
};

}  // namespace tenon::schedule
