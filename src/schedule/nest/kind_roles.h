// What the scheduler does with each structural kind. The one table of the kinds that are loops.
#pragma once

#include <cstdint>
#include <type_traits>

#include "ir/kinds.h"

namespace tenon::schedule {

enum class NodeRole : uint8_t {
  leaf,    // in memory before the program runs
  folded,  // computed wherever it is needed: views, positions, single numbers
  loop,    // part of some kernel
  alone,   // has no loop form: a step of its own
};

template <class... Kinds>
struct KindList {
  template <class Kind>
  static constexpr bool has = (std::is_same_v<Kind, Kinds> || ...);
};

using LeafKinds = KindList<Input, Constant>;
using FoldedKinds = KindList<Iota, Reshape, Transpose, Broadcast, Slice, Pad, Flip>;
using LoopKinds = KindList<Random, Map, Reduce, Window, Contract, Conv, Concat, Gather, Update>;
using AloneKinds = KindList<Scatter, Sort, Scan, Positions, Call, If, Loop, Barrier>;

/// Of nodes of a kind; Roles decides by the node where that is not all. A kind that is in no list does not compile.
template <class Kind>
constexpr NodeRole kind_role() {
  static_assert(LeafKinds::has<Kind> + FoldedKinds::has<Kind> + LoopKinds::has<Kind> + AloneKinds::has<Kind> == 1,
                "a kind is in exactly one of the lists");
  if constexpr (LeafKinds::has<Kind>) {
    return NodeRole::leaf;
  } else if constexpr (FoldedKinds::has<Kind>) {
    return NodeRole::folded;
  } else {
    return LoopKinds::has<Kind> ? NodeRole::loop : NodeRole::alone;
  }
}

template <class Kind>
concept AloneKind = kind_role<Kind>() == NodeRole::alone;

}  // namespace tenon::schedule
