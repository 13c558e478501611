// Builders for what slides along positions: convolution, pooling, and resizing.
// Values are [batch, channel, position...] with any number of position axes, whose sizes may all be symbolic. Options
// have one entry for each position axis; an empty list stands for the default on every axis.
#pragma once

#include <string>
#include <vector>

#include "tenon/ops.h"

namespace tenon {

struct ConvOptions {
  std::vector<int64_t> stride = {};
  std::vector<int64_t> dilation = {};  // of w
  std::vector<Extent> low = {}, high = {};
  /// `explicit`: low and high; `valid`: none; `same_upper`, `same_lower`: ceildiv(n, stride) positions, an odd element
  /// of padding at the end, or at the start.
  std::string padding = "explicit";
  int64_t groups = 1;
  std::vector<int64_t> x_dilation = {};  // zeros between the elements of x, x_dilation - 1 of them
  std::optional<Dtype> dtype = {};       // of the result, else x's; i8 and u8, also one of each, may give i32
};
/// x[batch, channel, position...] with w[out channel, channel / groups, offset...], without reversing w:
/// (low + n + high - span) floordiv stride + 1 positions. Padding is zeros, which count as elements; negative padding
/// crops. An axis that is smaller than the window is an Error.
Value conv(const Value& x, const Value& w, const ConvOptions& options = {});

struct ConvTransposeOptions {
  std::vector<int64_t> stride = {};
  std::vector<int64_t> dilation = {};
  std::vector<Extent> low = {}, high = {};  // cropped from the result
  std::vector<Extent> output_padding = {};  // added at its end
  int64_t groups = 1;
};
/// The transpose of conv, as ONNX and PyTorch define it: w is [channel, out channel / groups, offset...], and the
/// result has stride * (n - 1) + span - low - high + output_padding positions.
Value conv_transpose(const Value& x, const Value& w, const ConvTransposeOptions& options = {});

struct PoolOptions {
  std::vector<int64_t> stride = {};  // default: the size, so that windows tile the axis
  std::vector<int64_t> dilation = {};
  std::vector<Extent> low = {}, high = {};
  std::string padding = "explicit";  // as in ConvOptions
  /// Also windows that reach beyond the end, unless they begin beyond it.
  bool ceil_mode = false;
  /// average_pool divides by the number of elements under the window, padding included as in PyTorch; what ceil_mode
  /// adds is not. ONNX counts no padding unless told.
  bool count_include_pad = true;
};
/// Padding is never the largest: it counts as the lowest value of the dtype.
Value max_pool(const Value& x, const std::vector<int64_t>& size, const PoolOptions& options = {});
Value sum_pool(const Value& x, const std::vector<int64_t>& size, const PoolOptions& options = {});
Value average_pool(const Value& x, const std::vector<int64_t>& size, const PoolOptions& options = {});
/// The p-norm of the elements under the window.
Value lp_pool(const Value& x, const std::vector<int64_t>& size, double p = 2, const PoolOptions& options = {});

/// Over all positions, which become axes of size 1.
Value global_average_pool(const Value& x);
Value global_max_pool(const Value& x);
/// Means of equal parts: `size` positions each axis, which must divide it.
Value adaptive_average_pool(const Value& x, const std::vector<int64_t>& size);

struct ResizeOptions {
  std::string mode = "nearest";  // nearest, linear, cubic
  /// Which position of x a position of the result is: half_pixel, pytorch_half_pixel, align_corners, asymmetric.
  std::string coordinates = "half_pixel";
  /// nearest: round_prefer_floor, round_prefer_ceil, floor, ceil.
  std::string rounding = "round_prefer_floor";
  double cubic_coefficient = -0.75;
};
/// x sampled at `size` positions along each of `axes`, as ONNX's Resize without antialiasing; beyond the ends the last
/// element counts. linear and cubic are for floats. Positions are computed in f64 from whole numbers.
Value resize(const Value& x, const Axes& axes, const std::vector<Extent>& size, const ResizeOptions& options = {});

/// A factor: {2}, {1.5}, {1, 3}.
struct Scale {
  double numerator = 1;
  double denominator = 1;
};
/// As resize(), to floor(n * scale) positions, with coordinates by the scale itself. On a symbolic axis the scale must
/// be a fraction of whole numbers up to 2^20 (1.5 and {1, 3} are).
Value resize_by(const Value& x, const Axes& axes, const std::vector<Scale>& scales, const ResizeOptions& options = {});

}  // namespace tenon
