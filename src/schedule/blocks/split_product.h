// Products of few tiles and long sums: parts of the sums by blocks of their own.
#pragma once

#include <optional>

#include "kernel/loop/loop.h"

namespace tenon::schedule {

/// The depth of a product in parts: the part that an axis counts has so many steps.
struct DepthPart {
  int axis = -1;  // none: the product has all steps
  Extent length = 0;
};

/// A kernel of one phase with a product as four. Sizes decide which of them have iterations: the first, or all others.
/// All have one more buffer, the last.
struct SplitProduct {
  loops::Kernel whole;  // as it was
  loops::Kernel parts;  // blocks sum up parts of the depth, into the last buffer
  DepthPart part;       // of its product
  loops::Kernel total;  // adds the parts up, where the first part lies: bound to blocks and threads
  loops::Kernel rest;   // does what is behind the product
};

/// Nothing where the kernel has another form, or there is nothing to gain for any sizes.
std::optional<SplitProduct> split_product(const loops::Kernel& kernel);

}  // namespace tenon::schedule
