// How a convolution in the form of winograd.h is cut, and whether it pays.
#pragma once

#include <cstdint>
#include <optional>

#include "kernel/constants/winograd_form.h"
#include "schedule/options/product_tiles.h"

namespace tenon::schedule {

/// Images of results of one channel.
struct ImageSize {
  int64_t images = 0, height = 0, width = 0;

  int64_t pixels() const { return images * height * width; }
  int64_t squares(layouts::WinogradForm form) const;
};

/// A convolution of 3x3, and who runs it.
struct WinogradSize {
  int64_t channels = 0, results = 0;
  std::optional<ImageSize> image = {};  // where that is known
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
WinogradBlocks winograd_blocks(const WinogradSize& size, layouts::WinogradForm form, const ProductTiles& tiles,
                               int64_t panel, int64_t work);

/// The form that takes the least time, or nothing where the convolution itself does: as machine code, whoever runs the
/// loops, so that all see the same steps. Images of unknown sizes are taken to be large.
std::optional<layouts::WinogradForm> winograd_form(WinogradSize size, const ProductTiles& tiles);

}  // namespace tenon::schedule
