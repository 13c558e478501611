// How large the blocks are that products run in.
#pragma once

#include <unordered_map>
#include <vector>

#include "schedule/draft/draft.h"
#include "schedule/options/product_tiles.h"
#include "schedule/products/product_match.h"

namespace tenon::schedule {

/// Cuts axes of a size that is not known into blocks of about `most`, all nearly as large and multiples of `multiple`.
Extent block_size(const Extent& extent, const Extent& most, int64_t multiple);

/// What tiles are a multiple of, of columns that lie in panels or (0) do not. Tiles begin where panels do: those of 12
/// columns divide no usual multiple, and a common one would cut 256 columns into 192 and 64.
constexpr int64_t multiple_of_columns(int64_t panel) {
  return panel == 0 || kColumnMultiple % panel == 0 ? kColumnMultiple : panel;
}

/// How often each side of an output that a product writes directly is cut: twice as many tiles as there are cores, and
/// no more, since each of them packs what it reads.
int64_t cuts_of_output(int64_t cores);

/// `whole` in `cuts` equal shares, in a multiple of that where they would be more than `most`; no less than `least`.
Extent equal_shares(const Extent& whole, int64_t cuts, int64_t least, int64_t most);

/// The number of blocks is a multiple of `count`, so that as many fall to each core, where blocks then still have
/// `least` steps.
struct EvenBlocks {
  int64_t count = 1;
  int64_t least = 1;
};

/// Sides of a tile, or of what tiles cut.
struct TileSides {
  Extent rows = 1, columns = 1;
  Extent others = 1;  // iterations around them
  EvenBlocks even_rows = {};
};

/// Tiles of at most `most`, smaller where there would be too few for the cores of a machine: first less wide, then less
/// high, so that each still has enough of both for the code of products. With two cores tiles are as large as caches
/// allow, but as many fall to each core: three tiles would take two cores as long as four.
TileSides tiles_for_cores(const TileSides& all, const TileSides& most, int64_t cores);

/// The same of an output that a product writes directly. It takes no room in caches beside the product's own, so a tile
/// for each core is wanted where there are few, too.
TileSides output_tiles_for_cores(const TileSides& all, const TileSides& most, int64_t cores);

/// Cuts loops that count as one, the last fastest, into blocks of at most `most` steps in all: the innermost ones are
/// whole as long as they fit. Gives the loops that count blocks. Of several loops, `even` is about the last but one:
/// the rows of an image.
AxisSet cut_loops(Draft& draft, const std::vector<int>& axes, Extent most, int64_t multiple, EvenBlocks even = {});

/// Which axes were cut together. A product counts the axes of a side as one axis, which is right for axes that one call
/// of cut_loops() cut. It is wrong where they were cut by different calls (one side of a product may be the rows and
/// the columns of another): the last tile of a row is shorter, so the next row would not follow it.
class CutsOfSides {
 public:
  void add(const std::vector<int>& axes);
  bool count_as_one(Draft& draft, const std::vector<int>& side) const;

 private:
  std::unordered_map<int, AxisSet> together_;  // by axis
};

/// A cut of the sum over k.
struct DepthBlock {
  int axis = -1;  // the loop to cut; or none
  Extent size;
  Extent steps;  // of k, in a block
};

/// How many elements of an operand take the room of a float, in which sizes of tiles are counted. (Halves are counted
/// as floats.)
int64_t elements_for_float(const ProductTypes& types);

/// The blocks of k in which an operand is stored first. `packs`: the right side is a constant in panels.
DepthBlock depth_block(const Draft& draft, const ProductMatch& product, bool packs, const ProductTiles& tiles);

}  // namespace tenon::schedule
