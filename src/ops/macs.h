// Work that can be counted without running anything.
#pragma once

#include "ir/node.h"

namespace tenon {

/// Multiply-accumulates of a product or a convolution; 0 of any other node, whatever its bodies do.
Extent macs(const Node& node);

}  // namespace tenon
