// Where the operands of products lie: as they are in memory, stored in scratch, or laid out in panels.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "schedule/draft.h"
#include "schedule/panels.h"
#include "schedule/product_match.h"

namespace tenon {

/// A product that stands in front of the loops of a phase, and what must be stored for it first.
struct DraftProduct {
  loops::Product statement;
  std::vector<size_t> operands;  // Draft::stores, into scratch: operands that are computed, or lie in no matrix
  int depth_blocks = -1;         // the loop around both, where the sum runs block by block; or none
};

/// Which operands may be laid out anew.
struct ConstantOperands {
  int64_t panel = 0;  // columns of a panel; 0: none
  std::function<bool(int buffer)> is_constant = {};
};

std::vector<int> in_order(AxisSet set);

/// The load of a value without bounds and lookups, or null.
const loops::Load* plain_load(const Draft& draft, int value);

/// Elements of the value lie side by side along k, or along the innermost axis of its side.
bool lies_in_rows(const Draft& draft, int value, Dtype dtype, AxisSet side);

/// How many steps all of these loops together make.
Extent steps_of(const Draft& draft, const std::vector<int>& axes);
/// The number of a step among them.
loops::Affine step_number(const Draft& draft, const std::vector<int>& axes);

int add_scratch(Draft& draft, Dtype dtype, const Extent& elements);

/// A position as the element of a matrix over two lists of axes, each as if it were one; nothing where rows or columns
/// are not the same distance apart everywhere.
std::optional<loops::Matrix> as_matrix(const Draft& draft, int buffer, const loops::Affine& at,
                                       const std::vector<int>& rows, const std::vector<int>& columns);
/// The value as a matrix where it lies in memory.
std::optional<loops::Matrix> in_place(const Draft& draft, int value, Dtype dtype, const std::vector<int>& rows,
                                      const std::vector<int>& columns);
/// The value as a matrix in scratch, with a store that `product` needs first.
loops::Matrix stored(Draft& draft, int value, Dtype dtype, const std::vector<int>& rows,
                     const std::vector<int>& columns, DraftProduct& product);
/// Lay a constant right operand out as the product reads it, where nothing else reads it; `panels` remembers.
void pack_constant(Draft& draft, const ProductMatch& match, const ConstantOperands& constants, DraftProduct& product,
                   std::map<int, PanelLayout>& panels);

}  // namespace tenon
