// Sums of products in a draft: computed for whole tiles, in registers, into scratch.
#pragma once

#include <map>
#include <vector>

#include "schedule/draft/draft.h"
#include "schedule/options/schedule_options.h"
#include "schedule/products/epilogue_reductions.h"
#include "schedule/products/product_operands.h"

namespace tenon::schedule {

struct TiledProducts {
  AxisSet grid = 0;                            // the loops around everything
  AxisSet around = 0;                          // these, and the loops over blocks of k
  std::vector<DraftProduct> products;          // each after those whose results it reads
  std::vector<size_t> stores;                  // that are left to do after them,
  AxisSet first = 0;                           // all inside of these loops
  ProductException exception = {};             // likewise
  std::map<int, layouts::PanelLayout> panels;  // buffers that hold constants in panels now
  Extent streamed = 0;                         // elements of a row that is taken in blocks
  int64_t winograd = 0;                        // a convolution in a form of winograd.h: results a side of a square
};

/// How the stores of a kernel go with its products.
struct ProductForm {
  const ScheduleOptions& options;
  bool streams = false;                            // rows between two products are taken in blocks: stream_products.h
  const EpilogueReductions* reductions = nullptr;  // or these are taken tile by tile
};

/// Turn every reduction that is a sum over k of a[.., m, k] * b[.., k, n] into a product over a tile of m and n, and
/// what reads it into loads of the tile. Axes that all of the kernel has around it are cut into tiles; the others are
/// whole in each. `stores` are those of the kernel, or of its tiles. No products: the draft stays as it is. Throws
/// Refusal where something in the kernel cannot stand beside a product, or not in this form.
TiledProducts tile_products(Draft& draft, const std::vector<size_t>& stores, const ConstantOperands& constants,
                            const ProductForm& form);

}  // namespace tenon::schedule
