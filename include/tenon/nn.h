// Composites of neural networks: each is a Call that carries its meaning as a body, under the name of the function.
// On f16 and bf16 they compute in f32 and round once, at the end. Parameters that default to {} may be left out.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "tenon/ops.h"

namespace tenon {

// --- Softmax

/// exp(x) divided by its sum along `axis`, for logits of any size. A row of -inf alone gives NaN.
Value softmax(const Value& x, int axis = -1);
/// The logarithm of softmax, exact where softmax underflows.
Value log_softmax(const Value& x, int axis = -1);
/// log(sum(exp(x))) without overflow; -inf for no elements. No axes means all of them, here and below.
Value logsumexp(const Value& x, const Axes& axes = {}, bool keep = false);

// --- Norms and moments as reductions

/// Sum of magnitudes.
Value reduce_l1(const Value& x, const Axes& axes = {}, bool keep = false);
/// Square root of the sum of squares.
Value reduce_l2(const Value& x, const Axes& axes = {}, bool keep = false);
Value reduce_sum_square(const Value& x, const Axes& axes = {}, bool keep = false);
/// log(sum(x)).
Value reduce_log_sum(const Value& x, const Axes& axes = {}, bool keep = false);
/// Square distances from the mean, by two passes; their sum is divided by count - correction: 1, as in PyTorch, for the
/// unbiased one, 0 for the mean. NaN where count <= correction.
Value variance(const Value& x, const Axes& axes = {}, bool keep = false, int64_t correction = 1);
Value standard_deviation(const Value& x, const Axes& axes = {}, bool keep = false, int64_t correction = 1);

// --- Normalisation

/// (x - mean) / sqrt(variance + epsilon) * scale + bias over `axes`. Scale and bias have these axes, in order.
Value layer_norm(const Value& x, const Value& scale = {}, const Value& bias = {}, const Axes& axes = {-1},
                 double epsilon = 1e-5);
/// x / sqrt(mean of squares + epsilon) * scale.
Value rms_norm(const Value& x, const Value& scale = {}, const Axes& axes = {-1}, double epsilon = 1e-5);
/// x is [batch, channel, position...]; moments over each group of channels and all positions; scale and bias are
/// [channel]. The number of channels is a multiple of `groups`.
Value group_norm(const Value& x, const Value& scale, const Value& bias, int64_t groups, double epsilon = 1e-5);
/// Moments over the positions of each channel of each batch element.
Value instance_norm(const Value& x, const Value& scale = {}, const Value& bias = {}, double epsilon = 1e-5);
/// With given moments; all parameters are [channel], channel being `axis` of x.
Value batch_norm(const Value& x, const Value& scale, const Value& bias, const Value& mean, const Value& variance,
                 double epsilon = 1e-5, int axis = 1);

struct BatchNorm {
  Value y;
  Value running_mean;
  Value running_variance;
};
/// With the moments of this batch, over all axes but `axis`. As in PyTorch, x is normalised by the biased variance, and
/// the running moments become (1 - momentum) * running + momentum * of this batch, by the unbiased variance; that of
/// one element counts as 0. (ONNX means 1 - momentum by `momentum`, and keeps the biased one.)
BatchNorm batch_norm_training(const Value& x, const Value& scale, const Value& bias, const Value& running_mean,
                              const Value& running_variance, double momentum = 0.1, double epsilon = 1e-5,
                              int axis = 1);

// --- Dense layers

/// activation(x w + bias) for x[..., in], w[in, out], bias[out]; the activation is a unary row of the scalar table
/// ("relu", "gelu", "gelu_tanh", "silu", ...), or none.
Value dense(const Value& x, const Value& w, const Value& bias = {}, std::string_view activation = {});
/// (silu(x w_gate) * (x w_up)) w_down.
Value swiglu(const Value& x, const Value& w_gate, const Value& w_up, const Value& w_down);
/// The same with gelu.
Value geglu(const Value& x, const Value& w_gate, const Value& w_up, const Value& w_down);

// --- Attention

struct Qkv {
  Value q, k, v;  // [..., heads, seq, depth]
};
/// Queries, keys and values of x[..., seq, width], split into heads. `w` is one matrix [width, (heads + 2 * kv_heads) *
/// depth] with the columns of q, then k, then v, or three; `bias` has as many vectors, or none. No kv_heads: as heads.
Qkv qkv_dense(const Value& x, const std::vector<Value>& w, const std::vector<Value>& bias, int64_t heads,
              int64_t kv_heads = 0);

struct AttentionOptions {
  /// Broadcasts to [..., heads, query, key]: bool, true where the key is seen; or a float that is added to the scores.
  Value mask = {};
  /// Query i sees keys up to i + (keys - queries): the last query sees all, as when decoding with a cache.
  bool causal = false;
  /// Of the scores; 1 / sqrt(depth) when not given.
  std::optional<double> scale = {};
  /// What a query that sees no key gives (masked, or -inf, or no keys at all): zeros, or what a softmax of nothing but
  /// -inf makes of it, NaN.
  bool zeros = true;
};
/// softmax(scale * q k^T + mask) v for q[..., heads, query, depth], k[..., kv_heads, key, depth] and v[..., kv_heads,
/// key, value_depth]; kv_heads divides heads, and neighbouring query heads share one.
Value attention(const Value& q, const Value& k, const Value& v, const AttentionOptions& options = {});

struct HeadWeights {
  std::vector<Value> w;          // one or three, as for qkv_dense
  std::vector<Value> bias = {};  // as many, or none
  Value w_out;                   // [heads * depth, width]
  Value bias_out = {};           // [width]
};
/// qkv_dense, attention, heads side by side again, dense. With a `context`[..., key, width], keys and values come from
/// there instead of x; the weights must be three then.
Value multi_head_attention(const Value& x, const HeadWeights& weights, int64_t heads,
                           const AttentionOptions& options = {}, const Value& context = {}, int64_t kv_heads = 0);

struct RotaryOptions {
  double base = 10000;
  /// Which elements form a pair: 2i and 2i + 1, or i and i + depth / 2.
  bool interleaved = false;
  /// Integers [..., seq], whose leading axes are the first ones of x; when empty, offset, offset + 1, ...
  Value positions = {};
  Extent offset = 0;
  /// How many of the last axis's elements are turned, from the first; 0 is all.
  int64_t depth = 0;
};
/// Pair i of x[..., seq, depth] turned by position * base^(-2i / depth). Angles are f32 (f64 for f64), frequencies
/// rounded from f64.
Value rotary(const Value& x, const RotaryOptions& options = {});

}  // namespace tenon
