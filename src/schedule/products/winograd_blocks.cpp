#include "schedule/products/winograd_blocks.h"

#include <algorithm>
#include <vector>

#include "kernel/product/product.h"
#include "kernel/program/program.h"
#include "schedule/options/schedule_options.h"
#include "schedule/products/product_blocks.h"

namespace tenon::schedule {
namespace {

// Times are counted in those of the products of a square, a channel and a result: 1, of 16 or of 36 multiplications.
// Those of small squares were measured in the layers of ResNet-18 and some smaller images
// (docs/decisions/0017-winograd.md), on x86 with vectors of 512 bits, where products are fastest by what else there is:
// elsewhere, what is not a product counts less.

/// The convolution itself has 9 multiplications for a pixel, and as many weights.
constexpr double kDirect = 9;
/// Pixels of a channel and a square are transformed once for each block of results.
constexpr double kTransform = 8;
/// Sums of a result and a square are read and written again for each block of channels.
constexpr double kSums = 4;
/// The weights of a channel and a result are read for each block of squares: from the second cache (assumed, the others
/// are measured), from the one behind it, or from memory.
constexpr double kWeightsOfSecond = 2;
constexpr double kWeightsOfThird = 8;
constexpr double kWeightsOfMemory = 16;
/// Bytes of weights that one behind the second is taken to have room for: 4 MiB were there, 16 MiB were not.
constexpr int64_t kThirdCache = int64_t{8} << 20;
/// More blocks must be worth as much: they are more loops, and squares may not divide as well as they are counted here.
constexpr double kWorthIt = 0.99;

constexpr int64_t kLeastChannels = 64;
constexpr int64_t kLeastResults = 32;
constexpr int64_t kChannelMultiple = 16;
/// What is cut for cores where images are of any size.
constexpr int64_t kUsualPixels = 256;
constexpr int64_t kUsualSide = 7168;  // times channels
constexpr int64_t kLeastUsualSide = 7;

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

double time_of_weights(const WinogradSize& size, layouts::WinogradForm form, const ProductTiles& tiles) {
  const int64_t elements = form.parts() * size.channels * size.results;
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

/// Where images are of any size, both forms are held against each other at what many networks have: classifiers half as
/// much of each side (56 x 56 of 64 channels, 7 x 7 of 512), segmenting ones more.
ImageSize usual_image(const WinogradSize& size) {
  const int64_t side = std::max(kLeastUsualSide, kUsualSide / std::max(size.channels, size.results));
  return {.images = 1, .height = side, .width = side};
}

/// For a square, a channel and a result, on all cores together.
double time_of(const WinogradSize& size, layouts::WinogradForm form, const WinogradBlocks& blocks,
               const ProductTiles& tiles) {
  SquareBlocks cut{.count = 1, .squares = blocks.squares};
  double waiting = 1;  // by how much longer it takes than if all cores had the same to do
  if (size.image || size.cores > kFewCores) {
    cut = square_blocks(size.image ? size.image->squares(form) : kUsualPixels / (form.results * form.results),
                        blocks.squares, size.cores);
    const int64_t count = cut.count * parts_of(size.results, blocks.results);
    waiting = static_cast<double>(parts_of(count, size.cores) * size.cores) / static_cast<double>(count);
  }
  const double transforms = kTransform * share_of_parts(size.results, blocks.results);
  const double sums = blocks.channels < size.channels ? kSums * share_of_parts(size.channels, blocks.channels) : 0;
  const double weights = time_of_weights(size, form, tiles) / static_cast<double>(cut.squares);
  return waiting * (1 + transforms + sums + weights);
}

}  // namespace

int64_t ImageSize::squares(layouts::WinogradForm form) const {
  return images * parts_of(height, form.results) * parts_of(width, form.results);
}

WinogradBlocks winograd_blocks(const WinogradSize& size, layouts::WinogradForm form, const ProductTiles& tiles,
                               int64_t panel, int64_t work) {
  const int64_t elements =
      std::min(tiles.winograd_elements, (kMostScratch - work) / static_cast<int64_t>(sizeof(float)));
  WinogradBlocks best;
  std::optional<double> least;
  for (const int64_t results : cuts(size.results, kLeastResults, panel > 0 ? panel : kColumnMultiple)) {
    for (const int64_t channels : cuts(size.channels, kLeastChannels, kChannelMultiple)) {
      // Each square is transformed along one side first: those numbers take no more room than one more square.
      const int64_t squares = (elements / form.parts() - 2 * kWinogradApart) / (channels + results) - 1;
      const WinogradBlocks blocks{.channels = channels, .results = results, .squares = std::max<int64_t>(1, squares)};
      const double time = time_of(size, form, blocks, tiles);
      if (squares <= 0 ? !least : !least || time < kWorthIt * *least) {
        best = blocks;  // where none has room, the last is the smallest
        least = squares <= 0 ? least : std::optional(time);
      }
    }
  }
  return best;
}

std::optional<layouts::WinogradForm> winograd_form(WinogradSize size, const ProductTiles& tiles) {
  size.cores = 1;  // all forms are cut for the same ones
  const auto time = [&](layouts::WinogradForm form) {
    const double squares = size.image ? static_cast<double>(size.image->squares(form))
                                      : 1 / static_cast<double>(form.results * form.results);
    const WinogradBlocks blocks = winograd_blocks(size, form, tiles, kColumnMultiple, kProductPanelScratchBytes);
    return squares * static_cast<double>(form.parts()) * time_of(size, form, blocks, tiles);
  };
  double direct = kDirect;
  if (size.image) {
    direct =
        kDirect * (static_cast<double>(size.image->pixels()) + time_of_weights(size, layouts::kSmallSquares, tiles));
  }
  const auto faster = [&] {
    return time(layouts::kLargeSquares) < time(layouts::kSmallSquares) ? layouts::kLargeSquares
                                                                       : layouts::kSmallSquares;
  };
  if (time(size.image ? faster() : layouts::kSmallSquares) >= direct) {
    return std::nullopt;
  }
  if (!size.image) {
    size.image = usual_image(size);
  }
  return faster();
}

}  // namespace tenon::schedule
