// Work that can be counted without running anything.
#pragma once

#include "ir/node.h"

namespace tenon {

/// Multiply-accumulates of a product or a convolution; 0 of any other node, whatever its bodies do. Padding counts, and
/// zeros that a convolution puts between elements do not: a gradient has as many as the convolution that it is of.
Extent macs(const Node& node);

}  // namespace tenon
