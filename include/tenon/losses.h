// Losses: composites that are stable for logits of any size. On f16 and bf16 they compute in f32 and round at the end.
#pragma once

#include <cstdint>
#include <optional>

#include "tenon/ops.h"

namespace tenon {

enum class Reduction : uint8_t {
  none,  ///< one loss for each element, or each label
  mean,  ///< NaN for none
  sum,
};

struct LabelOptions {
  Reduction reduction = Reduction::mean;
  /// The axis of the classes. When not given it is PyTorch's: 1, as in [batch, class, height, width], or 0 of [class]
  /// alone. -1 is for [batch, seq, vocabulary].
  std::optional<int> axis = {};
  /// Labels of this value count 0 in the loss and are not counted in the mean; none do where there is no value.
  std::optional<int64_t> ignore_index = -100;
  /// [class]: factors of the losses. The mean divides by their sum.
  Value weight = {};
  /// The part of a label that is spread evenly over all classes; for cross_entropy alone.
  double label_smoothing = 0;
};
/// -log_softmax(logits) at integer labels, whose axes are those of logits without the classes'. A label outside
/// [0, classes) that is not ignored is an Error when run.
Value cross_entropy(const Value& logits, const Value& labels, const LabelOptions& options = {});
/// The same for logarithms of probabilities.
Value nll_loss(const Value& log_probabilities, const Value& labels, const LabelOptions& options = {});

// Element by element: both operands have the same axes, nothing broadcasts.

Value mse_loss(const Value& x, const Value& target, Reduction reduction = Reduction::mean);
Value l1_loss(const Value& x, const Value& target, Reduction reduction = Reduction::mean);
/// d^2 / 2 up to |d| = delta, then delta * (|d| - delta / 2).
Value huber_loss(const Value& x, const Value& target, double delta = 1, Reduction reduction = Reduction::mean);
/// huber_loss / beta; l1_loss for beta 0.
Value smooth_l1_loss(const Value& x, const Value& target, double beta = 1, Reduction reduction = Reduction::mean);
/// -(t log(p) + (1 - t) log(1 - p)), each logarithm no less than -100 as in PyTorch.
Value binary_cross_entropy(const Value& p, const Value& target, Reduction reduction = Reduction::mean);
/// The same for p = sigmoid(logits), exact for large ones; `positive_weight` multiplies the first term.
Value binary_cross_entropy_with_logits(const Value& logits, const Value& target, Reduction reduction = Reduction::mean,
                                       double positive_weight = 1);
/// target * (log(target) - log_q), 0 where the target is 0. With `log_target` the target is a logarithm too.
Value kl_divergence(const Value& log_q, const Value& target, Reduction reduction = Reduction::mean,
                    bool log_target = false);
/// max(0, margin - target * x) for targets 1 and -1.
Value hinge_loss(const Value& x, const Value& target, double margin = 1, Reduction reduction = Reduction::mean);

}  // namespace tenon
