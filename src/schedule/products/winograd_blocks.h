// How a convolution in the form of winograd.h is cut, and whether it pays.
#pragma once

#include <cstdint>
#include <optional>

#include "schedule/options/product_tiles.h"

namespace tenon::schedule {

/// A convolution of 3x3, and who runs it.
struct WinogradSize {
  int64_t channels = 0, results = 0;
  /// Of all images together, where that is known: squares of 2x2 results, and results of one channel.
  std::optional<int64_t> squares = {}, pixels = {};
  int64_t cores = 1;
};

/// What one block keeps in scratch: squares of pixels of so many channels, and as many squares of so many results.
struct WinogradBlocks {
  int64_t channels = 0, results = 0;
  int64_t squares = 0;  // at most

  friend bool operator==(const WinogradBlocks&, const WinogradBlocks&) = default;
};

/// Matrices in scratch lie this many elements further apart than they are large: places in a cache would collide.
inline constexpr int64_t kWinogradApart = 16;
/// Of a block that is made smaller for cores: each reads the weights.
inline constexpr int64_t kFewestSquares = 16;

/// The blocks that take the least time. `panel`: columns of the panels that weights lie in, which blocks of results are
/// multiples of, or 0; `work`: bytes of scratch that products use for themselves.
WinogradBlocks winograd_blocks(const WinogradSize& size, const ProductTiles& tiles, int64_t panel, int64_t work);

/// Whether they take less time than the convolution itself: as machine code, whoever runs the loops, so that all see
/// the same steps. Images of unknown sizes are taken to be large.
bool winograd_pays(WinogradSize size, const ProductTiles& tiles);

}  // namespace tenon::schedule
