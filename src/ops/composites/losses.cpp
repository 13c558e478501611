#include "tenon/losses.h"

#include "base/refused.h"
#include "ir/node.h"
#include "ops/axes.h"
#include "ops/composites/composite.h"
#include "ops/needed_by.h"
#include "tenon/nn.h"

namespace tenon {
namespace {

Value reduced(const Value& losses, Reduction reduction) {
  switch (reduction) {
    case Reduction::none: return losses;
    case Reduction::mean: return reduce_mean(losses);
    case Reduction::sum: return reduce_sum(losses);
  }
  refuse("there is no reduction number {}", static_cast<int>(reduction));
}

/// A composite of two values with the same axes; `loss` gives the loss of each element in the wide dtype.
Value elementwise_loss(std::string_view name, std::string_view x_name, const Value& x, const Value& target,
                       Reduction reduction, const std::function<Value(const Value&, const Value&)>& loss) {
  return composite_of(name, {{x_name, x}, {"target", target}}, [&](const Parts& in) {
    require_float(in[0], x_name);
    require_float(in[1], "target");
    if (x.rank() != target.rank()) {
      refuse("`{}` has rank {}, `target` has {}", x_name, x.rank(), target.rank());
    }
    std::vector<Constraint> unused;
    for (int i = 0; i < x.rank(); ++i) {
      match_axes(in[0], i, in[1], i, unused);
    }
    return cast(reduced(loss(widen(in[0]), cast(in[1], compute_dtype(x.dtype()))), reduction), x.dtype());
  });
}

/// c * (|d| - c / 2) with c = min(|d|, delta): both branches of the Huber loss, and nothing overflows on the way.
Value huber(const Value& x, const Value& target, double delta) {
  const Value distance = abs(x - target);
  const Value bounded = min(distance, delta);
  return bounded * (distance - bounded * 0.5);
}

int class_axis(const Value& logits, const LabelOptions& options) {
  return logits.shape().normalize_axis(options.axis.value_or(logits.rank() > 1 ? 1 : 0));
}

/// The parts of a loss by labels.
class LabelLoss {
 public:
  /// `name` is what the user knows the loss by.
  LabelLoss(std::string_view name, const Value& log_probabilities, const Value& labels, const Value& weight,
            const LabelOptions& options)
      : place_(NeededBy::place_of("a label", name)), table_(log_probabilities), weight_(weight), options_(options) {
    axis_ = class_axis(table_, options);
    if (!is_integer(labels.dtype())) {
      refuse("`labels` are {}, must be integers", tenon::name(labels.dtype()));
    }
    kept_ = other_axes(table_.rank(), {axis_});
    if (labels.rank() != table_.rank() - 1) {
      refuse("`labels` has rank {}, must have the {} axes of the logits that are not classes", labels.rank(),
             table_.rank() - 1);
    }
    std::vector<Constraint> unused;
    for (size_t i = 0; i < kept_.size(); ++i) {
      match_axes(table_, kept_[i], labels, static_cast<int>(i), unused);
    }
    label_ = cast(labels, Dtype::i64);
    Value counted = label_;
    if (options.ignore_index) {
      ignored_ = eq(label_, static_cast<double>(*options.ignore_index));
      counted = select(ignored_, 0, label_);
    }
    // Gather counts negative positions from the end; a negative label is a mistake, and no position of u64.
    position_ = cast(counted, Dtype::u64);
    if (weight_) {
      match_axes(table_, axis_, weight_, weight_.shape().normalize_axis(-1), unused);
      weight_ = cast(weight_, table_.dtype());
    }
  }

  Value result(double smoothing) const {
    Value losses = -picked(table_);
    losses = weight_ ? losses * weights() : losses;
    if (smoothing != 0) {
      const Value weighted = weight_ ? table_ * along_axes(weight_, table_.rank(), {axis_}, "weight") : table_;
      const Value spread = -reduce_sum(weighted, {axis_}) / extent_value(table_.extent(axis_), table_.dtype());
      losses = losses * (1 - smoothing) + spread * smoothing;
    }
    losses = kept_only(losses);
    if (options_.reduction != Reduction::mean || (!ignored_ && !weight_)) {
      return reduced(losses, options_.reduction);
    }
    const Value shares = weight_ ? weights() : full(losses.shape(), 1);
    return reduce_sum(losses) / reduce_sum(kept_only(shares));
  }

 private:
  Value weights() const {
    const Place place(place_);
    return take(weight_, position_);
  }
  /// `table` at the labels.
  Value picked(const Value& table) const {
    const Place place(place_);
    return gather(table, {position_},
                  {.axes = {axis_}, .x_batch = kept_, .index_batch = other_axes(position_.rank(), {})});
  }
  /// 0 where the label is ignored.
  Value kept_only(const Value& x) const { return ignored_ ? select(ignored_, 0.0, x) : x; }

  std::string place_;
  Value table_;
  Value weight_;
  LabelOptions options_;
  int axis_ = 0;
  Axes kept_;
  Value label_;
  Value position_;
  Value ignored_;  // empty: none is
};

Value label_loss(std::string_view name, std::string_view x_name, const Value& x, const Value& labels,
                 const LabelOptions& options, const std::function<Value(const Value&)>& log_probabilities) {
  const std::vector<NamedPart> parts{{x_name, x}, {"labels", labels}, {"weight", options.weight}};
  return composite_of(name, parts, [&](const Parts& in) {
    require_float(in[0], x_name);
    if (!in[1]) {
      refuse("`labels` is an empty Value");
    }
    const LabelLoss loss(name, log_probabilities(widen(in[0])), in[1], in[2], options);
    return cast(loss.result(options.label_smoothing), x.dtype());
  });
}

}  // namespace

Value cross_entropy(const Value& logits, const Value& labels, const LabelOptions& options) {
  return label_loss("cross_entropy", "logits", logits, labels, options, [&](const Value& wide) {
    if (!(options.label_smoothing >= 0 && options.label_smoothing <= 1)) {
      refuse("label smoothing is {}, must be from 0 to 1", options.label_smoothing);
    }
    return log_softmax(wide, class_axis(wide, options));
  });
}

Value nll_loss(const Value& log_probabilities, const Value& labels, const LabelOptions& options) {
  return label_loss("nll_loss", "log_probabilities", log_probabilities, labels, options, [&](const Value& wide) {
    if (options.label_smoothing != 0) {
      refuse("label smoothing is for cross_entropy");
    }
    return wide;
  });
}

Value mse_loss(const Value& x, const Value& target, Reduction reduction) {
  return elementwise_loss("mse_loss", "x", x, target, reduction,
                          [](const Value& a, const Value& b) { return square(a - b); });
}

Value l1_loss(const Value& x, const Value& target, Reduction reduction) {
  return elementwise_loss("l1_loss", "x", x, target, reduction,
                          [](const Value& a, const Value& b) { return abs(a - b); });
}

Value huber_loss(const Value& x, const Value& target, double delta, Reduction reduction) {
  return elementwise_loss("huber_loss", "x", x, target, reduction, [&](const Value& a, const Value& b) {
    if (!(delta > 0)) {
      refuse("delta is {}, must be positive", delta);
    }
    return huber(a, b, delta);
  });
}

Value smooth_l1_loss(const Value& x, const Value& target, double beta, Reduction reduction) {
  return elementwise_loss("smooth_l1_loss", "x", x, target, reduction, [&](const Value& a, const Value& b) -> Value {
    if (!(beta >= 0)) {
      refuse("beta is {}, must not be negative", beta);
    }
    return beta == 0 ? abs(a - b) : huber(a, b, beta) / beta;
  });
}

Value binary_cross_entropy(const Value& p, const Value& target, Reduction reduction) {
  return elementwise_loss("binary_cross_entropy", "p", p, target, reduction, [](const Value& a, const Value& t) {
    return -(t * max(log(a), -100.0) + (1.0 - t) * max(log1p(-a), -100.0));
  });
}

Value binary_cross_entropy_with_logits(const Value& logits, const Value& target, Reduction reduction,
                                       double positive_weight) {
  return elementwise_loss("binary_cross_entropy_with_logits", "logits", logits, target, reduction,
                          [&](const Value& x, const Value& t) {
                            // -log(sigmoid(x)) is softplus(-x): no difference of large numbers in either term.
                            const Value positive = t * softplus(-x);
                            const Value weighted = positive_weight == 1 ? positive : positive * positive_weight;
                            return weighted + (1.0 - t) * softplus(x);
                          });
}

Value kl_divergence(const Value& log_q, const Value& target, Reduction reduction, bool log_target) {
  return elementwise_loss("kl_divergence", "log_q", log_q, target, reduction, [&](const Value& q, const Value& t) {
    if (log_target) {
      return exp(t) * (t - q);
    }
    // The logarithm never sees a 0, so that neither value nor gradient is NaN where the target is 0.
    const Value none = eq(t, 0.0);
    return select(none, 0.0, t * (log(select(none, 1.0, t)) - q));
  });
}

Value hinge_loss(const Value& x, const Value& target, double margin, Reduction reduction) {
  return elementwise_loss("hinge_loss", "x", x, target, reduction,
                          [&](const Value& a, const Value& t) { return relu(margin - t * a); });
}

}  // namespace tenon
