// Operands of products that are stored in scratch first, as loops which compute elements where they are needed.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "kernel/loop/loop.h"

namespace tenon::schedule {

/// What computes an element of an operand at positions along its two sides, each of which counts several axes as one.
struct OperandLoops {
  /// An axis of the loops as a digit of a position.
  struct Part {
    int axis = -1;
    bool in_depth = false;  // of the position along the depth of the product; else of that along its rows or columns
    Extent apart;
    bool is_first = false;  // there is none before it
    bool is_only = false;
  };
  std::vector<Part> parts;
  std::vector<int> none;           // axes of one iteration
  loops::Block defines;            // of what the loops have
  int value = -1;                  // that is stored
  bool depth_lies_inside = false;  // elements that follow each other along the depth lie side by side in memory
};

/// Takes the loops out of `block` that store operands of its products in scratch which nothing else reads or writes,
/// and gives them by the scratch. Which loops do more than that, or in another order than they are numbered in, stay.
std::map<int, OperandLoops> take_operand_loops(const loops::Kernel& kernel, loops::Block& block);

/// The kernel with no room for such scratch.
loops::Kernel without_operand_scratch(loops::Kernel kernel);

/// Statements that compute an element: `value`, and what stands around it, outermost first.
struct OperandElement {
  loops::Block defines;
  std::vector<loops::Loop> around;  // at digits, without their bodies
  int value = -1;
};

/// The element at these positions along the rows or columns and along the depth. Where a bound does not hold, nothing
/// is read.
OperandElement element_of(loops::Kernel& kernel, const OperandLoops& loops, const loops::Affine& along,
                          const loops::Affine& depth, const std::vector<loops::Bound>& inside);

}  // namespace tenon::schedule
