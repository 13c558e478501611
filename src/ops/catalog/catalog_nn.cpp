// Composites and einsum in the catalog: options that are structs in C++ are parameters here, optional values default to
// none.
#include <algorithm>
#include <array>

#include "base/fail.h"
#include "ops/catalog/catalog.h"
#include "ops/catalog/catalog_build.h"
#include "tenon/einsum.h"
#include "tenon/losses.h"
#include "tenon/nn.h"
#include "tenon/recurrent.h"

namespace tenon {
namespace {

using catalog_build::builder;
using catalog_build::builder_by_hand;
using Maybe = std::optional<Value>;

Value or_none(const Maybe& value) { return value.value_or(Value()); }

Axes or_last(const Axes& axes) { return axes.empty() ? Axes{-1} : axes; }

Reduction reduction_of(const std::string& text) {
  constexpr std::array<std::string_view, 3> kNames = {"none", "mean", "sum"};
  const auto found = std::ranges::find(kNames, text);
  if (found == kNames.end()) {
    fail("reduction `{}` is none of none, mean, sum", text);
  }
  return static_cast<Reduction>(found - kNames.begin());
}

Value layer_norm_text(const Value& x, const Maybe& scale, const Maybe& bias, const Axes& axes, double epsilon) {
  return layer_norm(x, or_none(scale), or_none(bias), or_last(axes), epsilon);
}

Value rms_norm_text(const Value& x, const Maybe& scale, const Axes& axes, double epsilon) {
  return rms_norm(x, or_none(scale), or_last(axes), epsilon);
}

Value instance_norm_text(const Value& x, const Maybe& scale, const Maybe& bias, double epsilon) {
  return instance_norm(x, or_none(scale), or_none(bias), epsilon);
}

std::vector<Value> batch_norm_training_text(const Value& x, const Value& scale, const Value& bias, const Value& mean,
                                            const Value& variance, double momentum, double epsilon, int axis) {
  const BatchNorm done = batch_norm_training(x, scale, bias, mean, variance, momentum, epsilon, axis);
  return {done.y, done.running_mean, done.running_variance};
}

Value dense_text(const Value& x, const Value& w, const Maybe& bias, const std::optional<std::string>& activation) {
  return dense(x, w, or_none(bias), activation.value_or(""));
}

std::vector<Value> qkv_dense_text(const Value& x, const Value& w, const Maybe& bias, int64_t heads, int64_t kv_heads) {
  const Qkv qkv = qkv_dense(x, {w}, bias ? std::vector<Value>{*bias} : std::vector<Value>{}, heads, kv_heads);
  return {qkv.q, qkv.k, qkv.v};
}

Value attention_text(const Value& q, const Value& k, const Value& v, const Maybe& mask, bool causal,
                     std::optional<double> scale, bool zeros) {
  return attention(q, k, v, {.mask = or_none(mask), .causal = causal, .scale = scale, .zeros = zeros});
}

Value rotary_text(const Value& x, const Maybe& positions, const Extent& offset, double base, bool interleaved,
                  int64_t depth) {
  return rotary(
      x, {.base = base, .interleaved = interleaved, .positions = or_none(positions), .offset = offset, .depth = depth});
}

Value cross_entropy_text(const Value& logits, const Value& labels, const Maybe& weight, const std::string& reduction,
                         std::optional<int> axis, int64_t ignore_index, double label_smoothing) {
  return cross_entropy(logits, labels,
                       {.reduction = reduction_of(reduction),
                        .axis = axis,
                        .ignore_index = ignore_index,
                        .weight = or_none(weight),
                        .label_smoothing = label_smoothing});
}

Value nll_loss_text(const Value& log_probabilities, const Value& labels, const Maybe& weight,
                    const std::string& reduction, std::optional<int> axis, int64_t ignore_index) {
  return nll_loss(
      log_probabilities, labels,
      {.reduction = reduction_of(reduction), .axis = axis, .ignore_index = ignore_index, .weight = or_none(weight)});
}

/// A loss of two values and a reduction, with its text in place of the enumeration.
template <Value (*Loss)(const Value&, const Value&, Reduction)>
Value loss_text(const Value& x, const Value& target, const std::string& reduction) {
  return Loss(x, target, reduction_of(reduction));
}

/// The same for losses with a number between.
template <Value (*Loss)(const Value&, const Value&, double, Reduction)>
Value loss_text(const Value& x, const Value& target, double number, const std::string& reduction) {
  return Loss(x, target, number, reduction_of(reduction));
}

Value bce_logits_text(const Value& logits, const Value& target, const std::string& reduction, double positive_weight) {
  return binary_cross_entropy_with_logits(logits, target, reduction_of(reduction), positive_weight);
}

Value kl_divergence_text(const Value& log_q, const Value& target, const std::string& reduction, bool log_target) {
  return kl_divergence(log_q, target, reduction_of(reduction), log_target);
}

std::vector<Value> states(const RecurrentResult& result) {
  return result.last.c ? std::vector<Value>{result.outputs, result.last.h, result.last.c}
                       : std::vector<Value>{result.outputs, result.last.h};
}

std::vector<Value> rnn_text(const Value& x, const Value& w, const Value& r, const Maybe& bias, const Maybe& h,
                            bool reverse, const std::string& activation) {
  return states(rnn(x, {w, r, or_none(bias)}, {.initial = {or_none(h)}, .reverse = reverse, .activation = activation}));
}

std::vector<Value> lstm_text(const Value& x, const Value& w, const Value& r, const Maybe& bias, const Maybe& h,
                             const Maybe& c, bool reverse) {
  return states(lstm(x, {w, r, or_none(bias)}, {.initial = {or_none(h), or_none(c)}, .reverse = reverse}));
}

std::vector<Value> gru_text(const Value& x, const Value& w, const Value& r, const Maybe& bias, const Maybe& h,
                            bool reverse, bool linear_before_reset) {
  return states(gru(x, {w, r, or_none(bias)},
                    {.initial = {or_none(h)}, .reverse = reverse, .linear_before_reset = linear_before_reset}));
}

Value rnn_cell_text(const Value& x, const Value& h, const Value& w, const Value& r, const Maybe& bias,
                    const std::string& activation) {
  return rnn_cell(x, h, {w, r, or_none(bias)}, activation);
}

std::vector<Value> lstm_cell_text(const Value& x, const Value& h, const Value& c, const Value& w, const Value& r,
                                  const Maybe& bias) {
  const RecurrentState next = lstm_cell(x, {h, c}, {w, r, or_none(bias)});
  return {next.h, next.c};
}

Value gru_cell_text(const Value& x, const Value& h, const Value& w, const Value& r, const Maybe& bias,
                    bool linear_before_reset) {
  return gru_cell(x, h, {w, r, or_none(bias)}, linear_before_reset);
}

/// Operands come first in the text.
Value einsum_text(const std::vector<Value>& x, const std::string& equation) { return einsum(equation, x); }

}  // namespace

std::vector<CatalogEntry> nn_builders() {
  return {
      builder_by_hand<&einsum_text>("einsum", "x, equation", "sum of products in index notation, `ij,jk->ik`"),
      // Softmax, norms and moments
      builder<&softmax>("softmax", "x, axis=-1", "exp(x) divided by its sum along `axis`"),
      builder<&log_softmax>("log_softmax", "x, axis=-1", "the logarithm of softmax"),
      builder<&logsumexp>("logsumexp", "x, axes=[], keep=false", "log(sum(exp(x))) without overflow"),
      builder<&reduce_l1>("reduce_l1", "x, axes=[], keep=false", "sum of magnitudes"),
      builder<&reduce_l2>("reduce_l2", "x, axes=[], keep=false", "square root of the sum of squares"),
      builder<&reduce_sum_square>("reduce_sum_square", "x, axes=[], keep=false", "sum of squares"),
      builder<&reduce_log_sum>("reduce_log_sum", "x, axes=[], keep=false", "log(sum(x))"),
      builder<&variance>("variance", "x, axes=[], keep=false, correction=1",
                         "square distances from the mean, their sum divided by count - correction"),
      builder<&standard_deviation>("standard_deviation", "x, axes=[], keep=false, correction=1",
                                   "square root of the variance"),
      // Normalisation
      builder<&layer_norm_text>("layer_norm", "x, scale=none, bias=none, axes=[], epsilon=1e-5",
                                "normalised over `axes`, none means the last"),
      builder<&rms_norm_text>("rms_norm", "x, scale=none, axes=[], epsilon=1e-5",
                              "divided by the root of the mean square over `axes`, none means the last"),
      builder<&group_norm>("group_norm", "x, scale, bias, groups, epsilon=1e-5", "normalised over groups of channels"),
      builder<&instance_norm_text>("instance_norm", "x, scale=none, bias=none, epsilon=1e-5",
                                   "normalised over the positions of each channel"),
      builder<&batch_norm>("batch_norm", "x, scale, bias, mean, variance, epsilon=1e-5, axis=1",
                           "normalised by given moments"),
      builder<&batch_norm_training_text>(
          "batch_norm_training", "x, scale, bias, running_mean, running_variance, momentum=0.1, epsilon=1e-5, axis=1",
          "normalised by the moments of the batch; also gives new running moments"),
      // Dense layers and attention
      builder<&dense_text>("dense", "x, w, bias=none, activation=none", "activation(x w + bias)"),
      builder<&swiglu>("swiglu", "x, w_gate, w_up, w_down", "(silu(x w_gate) * (x w_up)) w_down"),
      builder<&geglu>("geglu", "x, w_gate, w_up, w_down", "(gelu(x w_gate) * (x w_up)) w_down"),
      builder<&qkv_dense_text>("qkv_dense", "x, w, bias=none, heads, kv_heads=0", "queries, keys and values in heads"),
      builder<&attention_text>("attention", "q, k, v, mask=none, causal=false, scale=none, zeros=true",
                               "softmax(scale * q k^T + mask) v; zeros where nothing is seen, or NaN"),
      builder<&rotary_text>("rotary", "x, positions=none, offset=0, base=10000, interleaved=false, depth=0",
                            "pairs turned by their position"),
      // Losses
      builder<&cross_entropy_text>(
          "cross_entropy",
          "logits, labels, weight=none, reduction=mean, axis=none, ignore_index=-100, label_smoothing=0",
          "-log_softmax(logits) at the labels"),
      builder<&nll_loss_text>("nll_loss",
                              "log_probabilities, labels, weight=none, reduction=mean, axis=none, ignore_index=-100",
                              "-log_probabilities at the labels"),
      builder<&loss_text<&mse_loss>>("mse_loss", "x, target, reduction=mean", "(x - target)^2"),
      builder<&loss_text<&l1_loss>>("l1_loss", "x, target, reduction=mean", "|x - target|"),
      builder<&loss_text<&huber_loss>>("huber_loss", "x, target, delta=1, reduction=mean",
                                       "quadratic up to delta, then linear"),
      builder<&loss_text<&smooth_l1_loss>>("smooth_l1_loss", "x, target, beta=1, reduction=mean", "huber_loss / beta"),
      builder<&loss_text<&binary_cross_entropy>>("binary_cross_entropy", "p, target, reduction=mean",
                                                 "-(t log(p) + (1 - t) log(1 - p))"),
      builder<&bce_logits_text>("binary_cross_entropy_with_logits", "logits, target, reduction=mean, positive_weight=1",
                                "binary_cross_entropy of sigmoid(logits)"),
      builder<&kl_divergence_text>("kl_divergence", "log_q, target, reduction=mean, log_target=false",
                                   "target * (log(target) - log_q)"),
      builder<&loss_text<&hinge_loss>>("hinge_loss", "x, target, margin=1, reduction=mean",
                                       "max(0, margin - target * x)"),
      // Recurrent layers
      builder<&rnn_cell_text>("rnn_cell", "x, h, w, r, bias=none, activation=tanh", "one step: h"),
      builder<&lstm_cell_text>("lstm_cell", "x, h, c, w, r, bias=none", "one step: h and c"),
      builder<&gru_cell_text>("gru_cell", "x, h, w, r, bias=none, linear_before_reset=false", "one step: h"),
      builder<&rnn_text>("rnn", "x, w, r, bias=none, h=none, reverse=false, activation=tanh",
                         "over [seq, batch, in]: outputs and h"),
      builder<&lstm_text>("lstm", "x, w, r, bias=none, h=none, c=none, reverse=false",
                          "over [seq, batch, in]: outputs, h and c"),
      builder<&gru_text>("gru", "x, w, r, bias=none, h=none, reverse=false, linear_before_reset=false",
                         "over [seq, batch, in]: outputs and h"),
  };
}

}  // namespace tenon
