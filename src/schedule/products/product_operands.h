// Where the operands of products lie: as they are in memory, stored in scratch, or laid out in panels.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "kernel/constants/panels.h"
#include "schedule/draft/draft.h"
#include "schedule/products/product_match.h"

namespace tenon::schedule {

/// A product that stands in front of the loops of a phase, and what must be stored for it first.
struct DraftProduct {
  loops::Product statement;
  std::vector<size_t> operands;  // Draft::stores, into scratch: operands that are computed, or lie in no matrix
  int each = -1;                 // a loop around the statement alone: products side by side, all of the same form
  int depth_blocks = -1;         // the loop around both, where the sum runs block by block; or none
  int begins = -1;               // a loop around this product and those behind it, up to
  int ends = -1;                 // the one that ends it
  std::vector<size_t> first;     // Draft::stores in front of that loop
  std::vector<size_t> carried;   // Draft::stores from one of its iterations to the next, a row at a time
  bool by_rows = false;          // operands are stored a row at a time: some are made of those before them
};

/// A correction pass: stores that are computed again after all others, for elements that the product form could not
/// compute.
struct ProductException {
  int unless = -1;             // a bool: the product form computed all elements; -1: it always does
  int once = -1;               // a loop of one iteration around the whole pass
  std::vector<size_t> stores;  // Draft::stores, in order
};

/// Which operands may be laid out anew.
struct ConstantOperands {
  int64_t panel = 0;           // columns of a panel; 0: none
  int64_t bytes_together = 0;  // those of products of bytes, too: ScheduleOptions::bytes_together
  std::function<bool(int buffer)> is_constant = {};
  /// Of a constant of f32: all of its elements are numbers that may be added up, and none overflows.
  std::function<bool(int buffer)> is_small = {};
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
/// The same for a left operand, whose rows may also lie side by side: as what it is made of does.
loops::Matrix stored_left(Draft& draft, int value, Dtype dtype, const std::vector<int>& rows,
                          const std::vector<int>& depth, DraftProduct& product);
/// Whether the value is a load of a constant of that dtype which nothing else reads.
bool is_own_constant(const Draft& draft, int value, Dtype dtype, const ConstantOperands& constants);
/// Whether the right operand is a constant that nothing else reads, which can be laid out anew.
bool is_packable(const Draft& draft, const ProductMatch& match, const ConstantOperands& constants);
/// Whether that holds for one of them.
bool any_packable(const Draft& draft, const std::vector<ProductMatch>& products, const ConstantOperands& constants);
/// Such an operand in panels, as the product reads it; `panels` remembers. Nothing where tiles do not begin with
/// panels, or blocks of k are not equal. `whole_panels`: tiles whose width is not known have whole ones all the same.
std::optional<loops::Matrix> packed(const Draft& draft, const ProductMatch& match, const ConstantOperands& constants,
                                    const DraftProduct& product, bool whole_panels,
                                    std::map<int, layouts::PanelLayout>& panels);

}  // namespace tenon::schedule
