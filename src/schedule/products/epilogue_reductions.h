// Reductions in the epilogue of products, over the tiles of their grid: statistics of channels, sums of rows.
#pragma once

#include <vector>

#include "schedule/draft/draft.h"
#include "schedule/products/product_match.h"

namespace tenon::schedule {

/// Every tile reduces its own elements while they are in cache; what all tiles left is combined in a second phase.
struct EpilogueReductions {
  std::vector<size_t> reductions;  // Draft::reductions, all over the same loops
  std::vector<size_t> stores;      // Draft::stores that are written tile by tile
  AxisSet common = 0;              // the loops that these stores and the elements to be reduced have around them
};

/// Reductions that no product of the draft needs, among them some of what products leave. Throws Refusal where they
/// have no such form.
EpilogueReductions find_epilogue_reductions(const Draft& draft, const std::vector<ProductMatch>& products,
                                            const std::vector<size_t>& stores);

}  // namespace tenon::schedule
