// Which convolutions may take the forms of winograd.h.
#pragma once

#include <optional>
#include <vector>

#include "schedule/products/products.h"
#include "schedule/products/winograd_blocks.h"

namespace tenon::schedule {

/// One of the two axes of the image.
struct WinogradSide {
  int result = -1;  // the loop over results
  int weight = -1;  // over positions of weights
};

/// The convolution, as loops: sums over `channels` and both sides' weights.
struct WinogradMatch {
  const ProductMatch* product = nullptr;
  loops::Load weights;
  WinogradSide y, x;
  int channels = -1;
  int results = -1;
  layouts::WinogradForm form = {};
};

/// The convolution of a kernel that does nothing else but what is made of its results, element by element, over images
/// whose channels lie side by side; with the form that takes the least time. Nothing where there is none.
std::optional<WinogradMatch> find_winograd(const Draft& draft, const std::vector<size_t>& stores,
                                           const ConstantOperands& constants, const std::vector<ProductMatch>& products,
                                           const ScheduleOptions& options);

/// What is known of it before it is cut.
WinogradSize size_of(const Draft& draft, const WinogradMatch& match, int64_t cores);

}  // namespace tenon::schedule
