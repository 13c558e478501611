// Sums of products in a draft: computed for whole tiles, in registers, into scratch.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "schedule/draft.h"
#include "schedule/panels.h"

namespace tenon {

/// A product that stands in front of the loops of a phase, and what must be stored for it first.
struct DraftProduct {
  loops::Product statement;
  std::vector<size_t> operands;  // Draft::stores, into scratch: operands that are computed, or lie in no matrix
  int depth_blocks = -1;         // the loop around both, where the sum runs block by block; or none
};

struct TiledProducts {
  AxisSet grid = 0;                    // the loops around everything
  AxisSet around = 0;                  // these, and the loops over blocks of k
  std::vector<DraftProduct> products;  // each after those whose results it reads
  std::vector<size_t> stores;          // that are left to do after them
  std::map<int, PanelLayout> panels;   // buffers that hold constants in panels now
};

/// Which operands may be laid out anew.
struct ConstantOperands {
  int64_t panel = 0;  // columns of a panel; 0: none
  std::function<bool(int buffer)> is_constant = {};
};

/// Turn every reduction that is a sum over k of a[.., m, k] * b[.., k, n] into a product over a tile of m and n, and
/// what reads it into loads of the tile. Axes that all of the kernel has around it are cut into tiles; the others are
/// whole in each. `stores` are those of the kernel. No products: the draft stays as it is. Throws Refusal where
/// something in the kernel cannot stand beside a product.
TiledProducts tile_products(Draft& draft, const std::vector<size_t>& stores, const ConstantOperands& constants);

}  // namespace tenon
