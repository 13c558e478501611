#include "kernel/product/product_blocked.h"

#include <algorithm>
#include <utility>

#include "kernel/product/product_byte_row.h"
#include "kernel/product/product_cuts.h"
#include "kernel/product/product_one_tile.h"
#include "kernel/product/product_packing.h"

namespace tenon {
namespace {

// Where scratch is shared by copies of both operands.
constexpr int64_t kRightScratch = int64_t{384} << 10;
constexpr int64_t kLeftScratch = kProductScratchBytes - kRightScratch;
constexpr int64_t kDepthBlock = ProductPacking::kMostDepth;
constexpr int64_t kDepthInPlace = 256;
// Rows of the left operand whose places in a cache collide are copied, as many as a tile has, beside a right operand
// that is packed in blocks of this depth: they stay in the first cache while all panels pass by.
constexpr int64_t kDepthOfStrip = 256;
constexpr size_t kStripBytes = ProductKernels::kMostRows * (kDepthOfStrip * sizeof(double) + 128);
static_assert(kPartOfSum * sizeof(float) <= kDepthOfStrip * sizeof(double) && kPartOfSum <= kDepthBlock);
constexpr int64_t kMatrixRows = 8;  // for fewer, a matrix unit has too little to do to pay for packing

/// One product: what stays the same from block to block.
class Blocked {
 public:
  Blocked(const ProductKernels& kernels, const ProductTypes& types, const ProductCall& call, void* scratch)
      : k_(kernels),
        types_(types),
        call_(call),
        scratch_(static_cast<std::byte*>(scratch)),
        left_bytes_(static_cast<int64_t>(byte_size(types.left))),
        right_bytes_(static_cast<int64_t>(byte_size(types.right))),
        tile_bytes_(static_cast<int64_t>(byte_size(types.tile))),
        in_parts_(sums_in_parts(types, call)) {
    steps_.tile_row = call.tile_row * tile_bytes_;
    // Out of cache, narrow strips were measured to be fetched faster; in cache, wide tiles have more sums under way.
    const int64_t bytes = call.depth * call.columns * right_bytes_;
    const bool large = bytes > kSmallOperand && bytes > k_.caches.second;
    widest_ = large ? 2 * k_.panel : kProductScratchBytes;
  }

  void run() {
    if (in_dots()) {
      dots();
    } else if (!in_place()) {
      nest(0, call_.columns, /*packs_right=*/true);
    } else {
      // A partial vector would read beyond the end of the operand: its columns are copied first.
      const bool all = k_.masks || call_.panel > 0;
      const int64_t whole = all ? call_.columns : call_.columns / k_.lanes * k_.lanes;
      if (k_.pack_left == nullptr) {
        directly(whole);
      } else {
        const int64_t done = call_.rows == 1 ? product_of_byte_row(k_, types_, call_, scratch_) : 0;
        nest(done, whole - done, /*packs_right=*/false);
      }
      nest(whole, call_.columns - whole, /*packs_right=*/true);
    }
  }

 private:
  /// Whether few rows meet a right operand whose depth is contiguous: packing it would cost more than the product.
  bool in_dots() const {
    if (call_.panel > 0 || call_.right_column == 1 || call_.right_depth != 1 || call_.left_depth != 1) return false;
    return k_.dots[1].several != nullptr && call_.rows <= (call_.depth < 256 ? 8 : 2 * k_.rows);
  }

  /// Whether the right operand is best read where it is.
  bool in_place() const {
    if (k_.right_bytes != right_bytes_) return false;
    if (call_.panel > 0 && call_.together != k_.step) return false;
    if (k_.step > 1) return call_.panel == k_.panel;
    if (call_.panel > 0) return k_.masks || call_.panel % k_.lanes == 0;
    if (call_.right_column != 1) return false;
    if (call_.rows <= 2 * k_.rows) return true;
    // Beyond that it must stay in the second cache from one tile of rows to the next, or be copied to where it does.
    const int64_t bytes = call_.depth * call_.columns * right_bytes_;
    const int64_t cache = k_.caches.second;
    if (call_.rows <= 8 * k_.rows) return bytes <= cache + cache / 4;
    const int64_t row = call_.right_depth * right_bytes_;
    const bool whole_lines = row % 64 == 0 && reinterpret_cast<uintptr_t>(call_.right) % 64 == 0;
    return bytes <= cache / 2 && whole_lines && !collides(row);
  }

  /// Whether tiles can read the left operand where it lies: whole steps of it, side by side.
  bool left_in_place() const {
    return k_.pack_left == nullptr ||
           (!k_.flips && k_.left_bytes == left_bytes_ && call_.left_depth == 1 && call_.depth % k_.step == 0);
  }

  Heights heights(int64_t rows) const { return even_heights(rows, call_.columns <= k_.lanes ? k_.tall_rows : k_.rows); }

  /// What the tiles of a block of depth do with what is there.
  int64_t accumulates(int64_t begin) const {
    return begin == 0 ? call_.accumulate : static_cast<int64_t>(in_parts_ ? Accumulate::add : Accumulate::go_on);
  }

  /// The depth of blocks, where `any` would do.
  int64_t depth_block(int64_t any) const { return in_parts_ ? kPartOfSum : any; }

  /// Rows of the left operand by `columns` contiguous columns.
  void strip(const Heights& heights, const std::byte* left, const std::byte* right, std::byte* tile, int64_t columns) {
    for (int64_t i = heights.tiles; i > 0; --i) {
      const int64_t rows = heights.rows + (i <= heights.higher ? 1 : 0);
      span(rows, left, right, tile, columns);
      left = at(left, rows * steps_.left_row);
      tile = at(tile, rows * steps_.tile_row);
    }
  }

  /// As many rows as a tile may have, the widest tiles first.
  void span(int64_t rows, const std::byte* left, const std::byte* right, std::byte* tile, int64_t columns) {
    const auto& tiles = k_.tiles[static_cast<size_t>(rows)];
    const ProductKernels::Tile* each = &tiles[static_cast<size_t>(k_.widths[static_cast<size_t>(rows)]) - 1];
    while (each->vectors * k_.lanes > widest_) {
      --each;
    }
    while (columns > 0) {
      const int64_t full = int64_t{each->vectors} * k_.lanes;
      if (columns >= full) {
        each->full(left, right, tile, full, &steps_);
        columns -= full;
        right = at(right, full * k_.step * k_.right_bytes);
        tile = at(tile, full * tile_bytes_);
      } else if (each->part != nullptr && columns > full - k_.lanes) {
        each->part(left, right, tile, columns, &steps_);
        return;
      } else {
        --each;
      }
    }
  }

  /// Whether there are enough rows and columns for tiles of two panels.
  bool suits_pairs(int64_t columns) const {
    return k_.pair_rows > 0 && call_.rows >= 2 * k_.rows && columns >= 2 * k_.panel;
  }

  /// As many rows as a tile of two panels may have, by columns in panels.
  void by_pairs(int64_t rows, const std::byte* left, const std::byte* right, std::byte* tile, int64_t columns) {
    const ProductMicro pair = k_.pairs[static_cast<size_t>(rows)];
    const int64_t panel = k_.panel;
    for (; columns >= 2 * panel; columns -= 2 * panel) {
      pair(left, right, tile, 2 * panel, &steps_);
      right = at(right, 2 * steps_.right_panel);
      tile = at(tile, 2 * panel * tile_bytes_);
    }
    for (; columns > 0; columns -= panel) {
      span(rows, left, right, tile, std::min(panel, columns));
      right = at(right, steps_.right_panel);
      tile = at(tile, panel * tile_bytes_);
    }
  }

  /// The first `columns` in such tiles, with nothing copied: rows of a tile stay in the first cache while panels pass
  /// by that stay in the second.
  void pairs_directly(int64_t columns) {
    const int64_t depths = depth_block(balanced(call_.depth, kDepthInPlace, 4));
    const int64_t width = balanced(columns, k_.caches.second / 2 / (depths * right_bytes_), 2 * k_.panel);
    const Heights high = even_heights(call_.rows, k_.pair_rows);
    for (int64_t first = 0; first < columns; first += width) {
      for (int64_t depth = 0; depth < call_.depth; depth += depths) {
        steps_.depth = std::min(depths, call_.depth - depth);
        steps_.accumulate = accumulates(depth);
        const std::byte* left = at(call_.left, depth * steps_.left_depth);
        const int64_t skipped = depth * steps_.right_depth + first / k_.panel * steps_.right_panel;
        const std::byte* const right = at(call_.right, skipped);
        std::byte* tile = at(call_.tile, first * tile_bytes_);
        for (int64_t i = high.tiles; i > 0; --i) {
          const int64_t rows = high.rows + (i <= high.higher ? 1 : 0);
          by_pairs(rows, left, right, tile, std::min(width, columns - first));
          left = at(left, rows * steps_.left_row);
          tile = at(tile, rows * steps_.tile_row);
        }
      }
    }
  }

  /// The first `columns`, with nothing copied: small products spend no time on plans.
  void directly(int64_t columns) {
    steps_.left_row = call_.left_row * left_bytes_;
    steps_.left_depth = call_.left_depth * left_bytes_;
    steps_.right_depth = call_.right_depth * right_bytes_;
    const int64_t panel = call_.panel > 0 ? call_.panel : call_.rows <= k_.rows ? columns : k_.panel;
    const int64_t apart = call_.panel > 0 ? call_.right_panel : panel;
    // Panels that begin within a line are better read again from the first cache.
    if (suits_pairs(columns) && steps_.right_depth % 64 == 0 && (call_.panel == 0 || call_.panel == k_.panel)) {
      steps_.right_panel = apart * right_bytes_;
      pairs_directly(columns);
      return;
    }
    int64_t first = 0;
    int64_t skipped = 0;
    if (call_.rows == 1 && call_.panel == k_.panel) {
      first = across_panels(columns);
      skipped = first / panel * apart * right_bytes_;
    }
    const Heights high = heights(call_.rows);
    // A panel should stay in the first caches from one tile of rows to the next.
    const int64_t block =
        depth_block(call_.rows <= 2 * k_.rows ? call_.depth : balanced(call_.depth, kDepthInPlace, 4));
    for (int64_t depth = 0; depth < call_.depth; depth += block) {
      steps_.depth = std::min(block, call_.depth - depth);
      steps_.accumulate = accumulates(depth);
      const std::byte* const left = at(call_.left, depth * steps_.left_depth);
      const std::byte* right = at(call_.right, depth * steps_.right_depth + skipped);
      for (int64_t column = first; column < columns; column += panel) {
        strip(high, left, right, at(call_.tile, column * tile_bytes_), std::min(panel, columns - column));
        right = at(right, apart * right_bytes_);
      }
    }
  }

  /// As many whole panels as there are kernels for, with one row. Gives how many columns that were.
  int64_t across_panels(int64_t columns) {
    steps_.right_panel = call_.right_panel * right_bytes_;
    int64_t done = 0;  // panels
    for (int64_t at_once = ProductKernels::kMostPanels; at_once > 1; --at_once) {
      const ProductMicro kernel = k_.panels[static_cast<size_t>(at_once)];
      if (kernel == nullptr) continue;
      for (; (done + at_once) * k_.panel <= columns; done += at_once) {
        const std::byte* const right = at(call_.right, done * steps_.right_panel);
        for (int64_t begin = 0; begin < call_.depth; begin += depth_block(call_.depth)) {
          steps_.depth = std::min(depth_block(call_.depth), call_.depth - begin);
          steps_.accumulate = accumulates(begin);
          kernel(at(call_.left, begin * steps_.left_depth), at(right, begin * steps_.right_depth),
                 at(call_.tile, done * k_.panel * tile_bytes_), at_once * k_.panel, &steps_);
        }
      }
    }
    return done * k_.panel;
  }

  /// What flipped bytes add to the sums (FlippedBytes) comes off first.
  void begin_flipped(int64_t rows, const std::byte* right, std::byte* tile, int64_t columns) {
    FlippedBytes flipped;
    const int64_t accumulate = std::exchange(steps_.accumulate, 0);
    span(1, FlippedBytes::zeros(), right, flipped.excess(), columns);
    steps_.accumulate = 1;
    flipped.subtract(rows, columns, tile, steps_.tile_row, accumulate != 0);
  }

  void dots() {
    steps_.left_row = call_.left_row * left_bytes_;
    steps_.right_depth = call_.right_column * right_bytes_;
    // Each lane has a sum of its own, and what is there is added at the end.
    const int64_t block = in_parts_ ? kLongestSum : call_.depth;
    for (int64_t begin = 0; begin < call_.depth; begin += block) {
      steps_.depth = std::min(block, call_.depth - begin);
      steps_.accumulate = begin == 0 ? call_.accumulate : 1;
      dots(at(call_.left, begin * left_bytes_), at(call_.right, begin * right_bytes_));
    }
  }

  void dots(const std::byte* lefts, const std::byte* rights) {
    constexpr int64_t kColumns = 8;  // whose right operand stays in cache from rows to rows
    for (int64_t first = 0; first < call_.columns; first += kColumns) {
      const int64_t columns = std::min(kColumns, call_.columns - first);
      for (int64_t row = 0; row < call_.rows; row += ProductKernels::kDotRows) {
        const int64_t rows = std::min<int64_t>(ProductKernels::kDotRows, call_.rows - row);
        const ProductKernels::Dot& dot = k_.dots[static_cast<size_t>(rows)];
        const std::byte* const left = at(lefts, row * steps_.left_row);
        for (int64_t column = 0; column < columns;) {
          const bool several = columns - column >= dot.columns;
          (several ? dot.several : dot.one)(left, at(rights, (first + column) * steps_.right_depth),
                                            at(call_.tile, row * steps_.tile_row + (first + column) * tile_bytes_), 0,
                                            &steps_);
          column += several ? dot.columns : 1;
        }
      }
    }
  }

  /// The sizes of blocks, and what is copied into scratch.
  struct BlockSizes {
    bool packs_left = false;
    bool strips = false;  // what is packed of the left operand is the rows of one tile
    bool pairs = false;   // tiles of two panels
    int64_t depth = 0;
    int64_t rows = 0;
    int64_t columns = 0;
    int64_t panel = 0;
  };

  BlockSizes plan(int64_t columns, bool packs_right) const {
    BlockSizes plan{.depth = call_.depth, .rows = call_.rows, .columns = columns};
    plan.packs_left =
        !left_in_place() || (packs_right && call_.left_depth != 1 && call_.rows > k_.rows && columns > 2 * k_.panel);
    plan.strips = packs_right && !plan.packs_left && call_.left_depth == 1 && call_.rows > k_.rows &&
                  columns >= 4 * k_.panel && collides(call_.left_row * left_bytes_);
    plan.pairs = packs_right && !plan.packs_left && suits_pairs(columns);
    const int64_t unit = std::max<int64_t>(4, k_.step);
    // Long blocks of depth load and store the tile less often, wide ones read the left operand less often. A left
    // operand whose depth is not contiguous is read badly over long ones.
    if (plan.packs_left && call_.left_depth != 1) {
      const int64_t cached = k_.caches.first * 2 / 3 / (k_.panel * k_.right_bytes);
      plan.depth = balanced(call_.depth, std::min(cached, kDepthBlock), unit);  // scratch is for no more
    } else if (plan.packs_left || packs_right) {
      const int64_t most = plan.strips ? kDepthOfStrip : plan.pairs ? kDepthBlock / 2 : kDepthBlock;
      plan.depth = balanced(call_.depth, most, unit);
    } else if (call_.rows > 2 * k_.rows) {
      plan.depth = balanced(call_.depth, kDepthInPlace * k_.step, unit);
    }
    plan.depth = depth_block(plan.depth);
    if (plan.packs_left) {
      plan.rows = balanced(call_.rows, (kLeftScratch - 64 * plan.depth) / (plan.depth * k_.left_bytes + 64), k_.rows);
    } else if (packs_right) {
      plan.rows = plan.pairs ? k_.pair_rows : k_.rows;  // which stay in the first caches while all panels pass by
    }
    if (packs_right) {
      plan.columns = balanced(
          columns, (plan.packs_left ? kRightScratch : kProductScratchBytes) / (plan.depth * k_.right_bytes), k_.panel);
      plan.panel = k_.panel;
    } else if (call_.panel > 0) {
      plan.panel = call_.panel;
    } else {
      plan.panel = call_.rows <= k_.rows ? columns : k_.panel;
    }
    return plan;
  }

  /// Columns [first, first + columns).
  void nest(int64_t first, int64_t columns, bool packs_right) {
    if (columns == 0) return;
    const ProductPacking packing(k_, types_, call_);
    const BlockSizes blocks = plan(columns, packs_right);
    alignas(64) std::byte of_strip[kStripBytes];
    std::byte* const packed_left =
        blocks.strips ? static_cast<std::byte*>(of_strip) : scratch_ + (packs_right ? kRightScratch : 0);
    steps_.right_depth =
        k_.step * (packs_right ? int64_t{k_.panel} * k_.right_bytes : call_.right_depth * right_bytes_);
    for (int64_t column = 0; column < columns; column += blocks.columns) {
      const int64_t width = std::min(blocks.columns, columns - column);
      for (int64_t begin = 0; begin < call_.depth; begin += blocks.depth) {
        const int64_t depth = std::min(blocks.depth, call_.depth - begin);
        steps_.depth = (depth + k_.step - 1) / k_.step;
        steps_.accumulate = accumulates(begin);
        steps_.right_panel = packing.panel_bytes(depth);
        if (packs_right) packing.pack_right(begin, depth, first + column, width, scratch_);
        for (int64_t row = 0; row < call_.rows; row += blocks.rows) {
          const int64_t rows = std::min(blocks.rows, call_.rows - row);
          std::byte* const tile = at(call_.tile, row * steps_.tile_row + (first + column) * tile_bytes_);
          const std::byte* left = packed_left;
          if (blocks.packs_left || blocks.strips) {
            packing.pack_left(row, rows, begin, depth, packed_left, steps_);
          } else {
            steps_.left_row = call_.left_row * left_bytes_;
            steps_.left_depth = call_.left_depth * left_bytes_ * k_.step;
            left = at(call_.left, row * steps_.left_row + begin * call_.left_depth * left_bytes_);
          }
          if (blocks.pairs) {
            by_pairs(rows, left, scratch_, tile, width);
            continue;
          }
          const Heights high = heights(rows);
          for (int64_t panel = 0; panel < width; panel += blocks.panel) {
            const std::byte* const right = packs_right ? scratch_ + panel / k_.panel * steps_.right_panel
                                                       : packing.right_at(begin, first + column + panel);
            const int64_t in_panel = std::min(blocks.panel, width - panel);
            steps_.accumulate = accumulates(begin);
            if (k_.flips) begin_flipped(rows, right, tile + panel * tile_bytes_, in_panel);
            strip(high, left, right, tile + panel * tile_bytes_, in_panel);
          }
        }
      }
    }
  }

  const ProductKernels& k_;
  const ProductTypes& types_;
  const ProductCall& call_;
  std::byte* const scratch_;
  const int64_t left_bytes_;  // of elements in the operands
  const int64_t right_bytes_;
  const int64_t tile_bytes_;
  const bool in_parts_;  // sums_in_parts()
  int64_t widest_ = 0;   // columns of the widest tile to use
  ProductSteps steps_;
};

}  // namespace

void blocked_product(const ProductKernels& kernels, const ProductTypes& types, const ProductCall& call, void* scratch) {
  if (call.depth == 0) return reference_product(types, call);
  if (call.rows == 0 || call.columns == 0) return;
  if (!kernels.of_many_rows.empty() && call.rows >= kMatrixRows) {
    Blocked(kernels.of_many_rows.front(), types, call, scratch).run();
  } else if (kernels.matrix.begin != nullptr && call.rows >= kMatrixRows) {
    matrix_product(kernels.matrix, types, call, scratch);
  } else if (!product_of_one_tile(kernels, call)) {
    Blocked(kernels, types, call, scratch).run();
  }
}

}  // namespace tenon
