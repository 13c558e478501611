// The loops of a kernel that is being built: which loops run over which axis of which value.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ir/node.h"
#include "schedule/draft/affine.h"

namespace tenon::schedule {

/// Extents of the loops that run over an axis of a value, outermost first, where one loop is not enough: reshapes are
/// index maps when loops run over the common refinement of both shapes.
using AxisSplits = std::map<std::pair<const Node*, int>, std::vector<Extent>>;

/// Thrown when an axis must be split further: start again with `splits`.
struct SplitNeeded {
  AxisSplits splits;
};

/// Loops that together run over one axis.
struct Cover {
  loops::Affine affine;   // the position along the axis
  Extent extent;          // of the axis
  std::vector<int> axes;  // outermost first; none for an axis of extent 1
  AxisSet set = 0;
};

class LoopAxes {
 public:
  LoopAxes(loops::Kernel& kernel, const AxisSplits& splits) : kernel_(kernel), splits_(splits) {}

  /// Loops over an axis of a value, disjoint from `taken`: those seen at this axis before, else any over the same
  /// extent, or over the extents that it is split into, else new ones.
  const Cover& cover(const Value& value, int axis, AxisSet taken);
  /// Loops over a range that is no axis of a value, such as a window.
  const Cover& cover(const Extent& extent, AxisSet taken);
  /// The loops that make up this position alone, or null.
  const Cover* find(const loops::Affine& position) const;
  /// Loops of `position` that run over an axis of `value`.
  void remember(const Value& value, int axis, const loops::Affine& position);

  /// Ask for loop `axis` to be split into one of extent/inner and one of `inner` iterations.
  [[noreturn]] void split(int axis, const Extent& inner) const;

 private:
  struct Origin {
    const Node* node;  // null: a range that is no axis
    int axis;
    size_t part;
  };
  const Cover* find_free(const Extent& extent, AxisSet taken) const;
  const Cover* join_free(const std::vector<Extent>& parts, AxisSet taken);
  void append(Cover& cover, int loop) const;
  const Cover& make(const std::vector<Extent>& parts, const std::string& label, const Node* node, int axis);

  loops::Kernel& kernel_;
  const AxisSplits& splits_;
  std::vector<std::unique_ptr<Cover>> covers_;
  std::vector<Origin> origins_;  // of each loop
  std::map<std::pair<Value, int>, const Cover*, bool (*)(const std::pair<Value, int>&, const std::pair<Value, int>&)>
      seen_{[](const std::pair<Value, int>& a, const std::pair<Value, int>& b) {
        const auto key = [](const std::pair<Value, int>& x) {
          return std::tuple(&x.first.node(), x.first.output(), x.second);
        };
        return key(a) < key(b);
      }};
};

}  // namespace tenon::schedule
