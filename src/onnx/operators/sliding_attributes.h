// What convolutions and pools say about their windows.
#pragma once

#include <vector>

#include "onnx/import/node_call.h"
#include "tenon/convolution.h"

namespace tenon::importer {

struct SlidingAttributes {
  std::vector<int64_t> stride, dilation;  // empty: ones
  std::vector<Extent> low, high;
  std::string padding = "explicit";
};

/// strides, dilations, pads and auto_pad; each has an entry for each position axis of input 0, or is empty.
SlidingAttributes sliding_attributes(const NodeCall& call);

ConvOptions conv_options(const NodeCall& call);
PoolOptions pool_options(const NodeCall& call, size_t position_axes);

/// `w` with position axes of the sizes that kernel_shape says, where they are symbolic. Error where they are others.
Value with_kernel_shape(const NodeCall& call, const Value& w);

/// [batch, position..., channel] as [batch, channel, position...], and back.
Value channels_second(const Value& x);
Value channels_last(const Value& x);

/// A vector [channel] beside [batch, channel, position...].
Value along_channels(const Value& vector, int rank);

}  // namespace tenon::importer
