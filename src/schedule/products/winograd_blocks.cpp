#include "schedule/products/winograd_blocks.h"

#include <algorithm>
#include <vector>

#include "kernel/product/product.h"
#include "kernel/program/program.h"
#include "schedule/options/schedule_options.h"
#include "schedule/products/product_blocks.h"
#include "schedule/products/winograd_weights.h"

namespace tenon::schedule {
namespace {

// Times are counted in those of the 16 products of a square, a channel and a result: 1. Measured in the layers of
// ResNet-18 and some smaller images (docs/decisions/0017-winograd.md), on x86 with vectors of 512 bits, where products
// are fastest by what else there is: elsewhere, what is not a product counts less.

/// The convolution itself multiplies 36 times for these 16.
constexpr double kDirect = 36.0 / 16;
/// Pixels of a channel and a square are transformed once for each block of results.
constexpr double kTransform = 8;
/// Sums of a result and a square are read and written again for each block of channels.
constexpr double kSums = 4;
/// 16 weights of a channel and a result are read for each block of squares: from the second cache (assumed, the others
/// are measured), from the one behind it, or from memory. The convolution itself reads 9.
constexpr double kWeightsOfSecond = 2;
constexpr double kWeightsOfThird = 8;
constexpr double kWeightsOfMemory = 16;
constexpr double kDirectWeights = 9.0 / 16;
/// Bytes of weights that one behind the second is taken to have room for: 4 MiB were there, 16 MiB were not.
constexpr int64_t kThirdCache = int64_t{8} << 20;
/// More blocks must be worth as much: they are more loops, and squares may not divide as well as they are counted here.
constexpr double kWorthIt = 0.99;

constexpr int64_t kLeastChannels = 64;
constexpr int64_t kLeastResults = 32;
constexpr int64_t kChannelMultiple = 16;
/// What is cut for cores where images are of any size.
constexpr int64_t kUsualSquares = 64;

int64_t parts_of(int64_t all, int64_t each) { return (all + each - 1) / each; }
/// By the element of it.
double share_of_parts(int64_t all, int64_t each) {
  return static_cast<double>(parts_of(all, each)) / static_cast<double>(all);
}

/// The whole of it, and nearly equal blocks, each smaller than the one before.
std::vector<int64_t> cuts(int64_t all, int64_t least, int64_t multiple) {
  std::vector<int64_t> sizes{all};
  for (int64_t parts = 2; all / parts >= least; ++parts) {
    const int64_t size = parts_of(parts_of(all, parts), multiple) * multiple;
    if (size < sizes.back()) {
      sizes.push_back(size);
    }
  }
  return sizes;
}

double time_of_weights(const WinogradSize& size, const ProductTiles& tiles) {
  const int64_t elements = kWinogradParts * size.channels * size.results;
  if (elements <= tiles.winograd_elements) {  // half of the second cache
    return kWeightsOfSecond;
  }
  return elements * static_cast<int64_t>(sizeof(float)) <= kThirdCache ? kWeightsOfThird : kWeightsOfMemory;
}

/// How many blocks the squares are cut into, for room and for cores, and how large those are.
struct SquareBlocks {
  int64_t count = 1;
  int64_t squares = 1;
};

SquareBlocks square_blocks(int64_t squares, int64_t room, int64_t cores) {
  const int64_t of_each = std::min(room, std::max(kFewestSquares, parts_of(squares, cores)));
  const int64_t count = std::max<int64_t>(1, parts_of(squares, of_each));
  return {.count = count, .squares = std::max<int64_t>(1, parts_of(squares, count))};
}

/// For a square, a channel and a result, on all cores together.
double time_of(const WinogradSize& size, const WinogradBlocks& blocks, const ProductTiles& tiles) {
  SquareBlocks cut{.count = 1, .squares = blocks.squares};
  double waiting = 1;  // by how much longer it takes than if all cores had the same to do
  if (size.squares || size.cores > kFewCores) {
    cut = square_blocks(size.squares.value_or(kUsualSquares), blocks.squares, size.cores);
    const int64_t count = cut.count * parts_of(size.results, blocks.results);
    waiting = static_cast<double>(parts_of(count, size.cores) * size.cores) / static_cast<double>(count);
  }
  const double transforms = kTransform * share_of_parts(size.results, blocks.results);
  const double sums = blocks.channels < size.channels ? kSums * share_of_parts(size.channels, blocks.channels) : 0;
  const double weights = time_of_weights(size, tiles) / static_cast<double>(cut.squares);
  return waiting * (1 + transforms + sums + weights);
}

}  // namespace

WinogradBlocks winograd_blocks(const WinogradSize& size, const ProductTiles& tiles, int64_t panel, int64_t work) {
  const int64_t elements =
      std::min(tiles.winograd_elements, (kMostScratch - work) / static_cast<int64_t>(sizeof(float)));
  WinogradBlocks best;
  double least = 0;
  for (const int64_t results : cuts(size.results, kLeastResults, panel > 0 ? panel : kColumnMultiple)) {
    for (const int64_t channels : cuts(size.channels, kLeastChannels, kChannelMultiple)) {
      const int64_t squares = (elements / kWinogradParts - 2 * kWinogradApart) / (channels + results);
      const WinogradBlocks blocks{.channels = channels, .results = results, .squares = std::max<int64_t>(1, squares)};
      const double time = time_of(size, blocks, tiles);
      const bool has_room = squares > 0;
      if (best.squares == 0 || (has_room && time < kWorthIt * least)) {
        best = blocks;
        least = time;
      }
    }
  }
  return best;
}

bool winograd_pays(WinogradSize size, const ProductTiles& tiles) {
  size.cores = 1;  // both forms are cut for the same ones
  const WinogradBlocks blocks = winograd_blocks(size, tiles, kColumnMultiple, kProductPanelScratchBytes);
  const double time = time_of(size, blocks, tiles);
  if (!size.squares || !size.pixels) {
    return time < kDirect;
  }
  const double of_pixels = kDirect * static_cast<double>(*size.pixels) / 4;
  return static_cast<double>(*size.squares) * time < of_pixels + kDirectWeights * time_of_weights(size, tiles);
}

}  // namespace tenon::schedule
