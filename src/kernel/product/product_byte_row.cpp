#include "kernel/product/product_byte_row.h"

#include <algorithm>
#include <array>

#include "kernel/product/product_packing.h"

namespace tenon {
namespace {

constexpr int64_t kMostColumns = ProductKernels::kMostPanels * FlippedBytes::kMostColumns;

/// What flipped bytes of the left operand add to the sums comes off, panels at a time: a row of zeros has as many sums
/// under way as the row itself.
void subtract_excess(ProductMicro kernel, const std::byte* right, uint32_t* tile, int64_t columns, int64_t step,
                     ProductSteps steps) {
  alignas(64) std::array<uint32_t, kMostColumns> excess;
  const int64_t whole = steps.depth;
  const int64_t most = ProductPacking::kMostDepth / step;
  for (int64_t begin = 0; begin < whole; begin += most) {
    steps.depth = std::min(most, whole - begin);
    steps.accumulate = begin == 0 ? 0 : 1;
    kernel(FlippedBytes::zeros(), at(right, begin * steps.right_depth), excess.data(), columns, &steps);
  }
  for (int64_t n = 0; n < columns; ++n) {
    tile[n] -= excess[static_cast<size_t>(n)];
  }
}

}  // namespace

int64_t product_of_byte_row(const ProductKernels& kernels, const ProductTypes& types, const ProductCall& call,
                            void* scratch) {
  const int64_t step = kernels.step;
  const bool in_place = !kernels.flips && call.depth % step == 0;
  if (kernels.left_bytes != 1 || call.left_depth != 1 || (!in_place && call.depth + 128 > kProductScratchBytes)) {
    return 0;
  }
  ProductSteps steps;
  const void* left = call.left;
  if (!in_place) {
    ProductPacking(kernels, types, call).pack_left(0, 1, 0, call.depth, static_cast<std::byte*>(scratch), steps);
    left = scratch;
  }
  steps.left_depth = step;
  steps.right_depth = call.right_depth * step;
  steps.right_panel = call.right_panel;
  steps.depth = (call.depth + step - 1) / step;
  steps.accumulate = call.accumulate;
  int64_t done = 0;  // panels
  for (int64_t at_once = ProductKernels::kMostPanels; at_once > 1; --at_once) {
    const ProductMicro kernel = kernels.panels[static_cast<size_t>(at_once)];
    const int64_t columns = at_once * kernels.panel;
    if (kernel == nullptr || columns > kMostColumns) continue;
    for (; done * kernels.panel + columns <= call.columns; done += at_once) {
      const std::byte* const right = at(call.right, done * steps.right_panel);
      auto* const tile = static_cast<uint32_t*>(call.tile) + done * kernels.panel;
      kernel(left, right, tile, columns, &steps);
      if (kernels.flips) subtract_excess(kernel, right, tile, columns, step, steps);
    }
  }
  return done * kernels.panel;
}

}  // namespace tenon
