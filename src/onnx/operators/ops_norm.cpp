// Normalisation, softmax and dropout.
#include <initializer_list>

#include "base/refused.h"
#include "onnx/import/importer.h"
#include "onnx/import/registry.h"
#include "onnx/operators/sliding_attributes.h"
#include "ops/axes.h"
#include "tenon/convolution.h"
#include "tenon/indexing.h"
#include "tenon/nn.h"

namespace tenon::importer {
namespace {

Axes all_but_channels(const Value& x) { return other_axes(x.rank(), {1}); }

/// Moments of this batch. ONNX's momentum weighs the old statistics, and the variance is the biased one.
Results batch_norm_of_batch(const NodeCall& call) {
  const Value& x = call.x(0);
  const double momentum = call.number_attribute("momentum", 0.9);
  const Dtype wide = compute_dtype(x.dtype());
  const Value mean = reduce_mean(cast(x, wide), all_but_channels(x));
  const Value spread = variance(cast(x, wide), all_but_channels(x), false, 0);
  const auto mixed = [&](const Value& old, const Value& now) {
    return old * momentum + cast(now, old.dtype()) * (1 - momentum);
  };
  const Value y = batch_norm(x, call.x(1), call.x(2), cast(mean, call.x(3).dtype()), cast(spread, call.x(4).dtype()),
                             call.number_attribute("epsilon", 1e-5));
  return std::vector<Value>{y, mixed(call.x(3), mean), mixed(call.x(4), spread)};
}

/// Parameters from the second operand on have an element for each channel.
void require_channels(const NodeCall& call, std::initializer_list<std::string_view> names) {
  size_t operand = 1;
  for (const std::string_view name : names) {
    if (call.x(0).rank() > 1) {
      call.require_size(call.x(operand), 0, call.x(0).extent(1), name);
    }
    ++operand;
  }
}

Results batch_normalization(const NodeCall& call) {
  require_channels(call, {"scale", "B", "mean", "var"});
  const bool training =
      call.version() >= 14 ? call.flag("training_mode") : call.version() < 7 && !call.flag("is_test") && call.wants(1);
  if (training) {
    return batch_norm_of_batch(call);
  }
  if (call.version() < 9 && !call.flag("spatial", true)) {
    refuse("batch normalization that is not per channel (spatial = 0) is not supported");
  }
  call.importer().tell_statistic(call.x(3));
  call.importer().tell_statistic(call.x(4));
  return batch_norm(call.x(0), call.x(1), call.x(2), call.x(3), call.x(4), call.number_attribute("epsilon", 1e-5));
}

Results instance_normalization(const NodeCall& call) {
  require_channels(call, {"scale", "B"});
  return instance_norm(call.x(0), call.x(1), call.x(2), call.number_attribute("epsilon", 1e-5));
}

Results layer_normalization(const NodeCall& call) {
  const Value& x = call.x(0);
  const int first = x.shape().normalize_axis(call.axis("axis", -1));
  Axes axes;
  for (int i = first; i < x.rank(); ++i) {
    axes.push_back(i);
  }
  const double epsilon = call.number_attribute("epsilon", 1e-5);
  // Scale and bias may broadcast; the composite wants them whole.
  const std::vector<Axis> normalized(x.shape().axes().begin() + first, x.shape().axes().end());
  const auto whole = [&](const Value& parameter) {
    return parameter && parameter.rank() != static_cast<int>(axes.size()) ? broadcast_to(parameter, normalized)
                                                                          : parameter;
  };
  std::vector<Value> results = {layer_norm(x, whole(call.x(1)), whole(call.x_or_none(2)), axes, epsilon)};
  if (call.wants(1) || call.wants(2)) {
    const Value wide = cast(x, compute_dtype(x.dtype()));
    results.push_back(reduce_mean(wide, axes, true));
    results.push_back(rsqrt(variance(wide, axes, true, 0) + epsilon));
  }
  return results;
}

/// Over the axes from `axis` on; the scale broadcasts to x.
Results rms_normalization(const NodeCall& call) {
  const Value& x = call.x(0);
  Axes axes;
  for (int i = x.shape().normalize_axis(call.axis("axis", -1)); i < x.rank(); ++i) {
    axes.push_back(i);
  }
  const double epsilon = call.number_attribute("epsilon", 1e-5);
  const Value& scale = call.x(1);
  if (scale.rank() == static_cast<int>(axes.size()) && axes.size() == 1) {
    return rms_norm(x, scale, axes, epsilon);
  }
  return rms_norm(x, {}, axes, epsilon) * cast(scale, x.dtype());
}

Results group_normalization(const NodeCall& call) {
  const Value& x = call.x(0);
  const int64_t groups = call.count_attribute("num_groups");
  Value scale = call.x(1);
  Value bias = call.x(2);
  if (call.version() < 21) {  // one for each group
    const auto each_channel = [&](const Value& of_group) {
      return repeat_interleave(of_group, floordiv(x.extent(1), groups), 0);
    };
    scale = each_channel(scale);
    bias = each_channel(bias);
  }
  return group_norm(x, scale, bias, groups, call.number_attribute("epsilon", 1e-5));
}

Results lp_normalization(const NodeCall& call) {
  const Value& x = call.x(0);
  const Axes axes = {call.axis("axis", -1)};
  const int64_t p = call.attribute("p", 2);
  if (p != 1 && p != 2) {
    refuse("p is {}, must be 1 or 2", p);
  }
  const Value norm = p == 1 ? reduce_l1(x, axes, true) : reduce_l2(x, axes, true);
  return select(eq(norm, 0), norm, x / norm);
}

Results mean_variance_normalization(const NodeCall& call) {
  Axes axes = to_axes(call.list_attribute("axes"));
  axes = axes.empty() ? Axes{0, 2, 3} : axes;
  const Value& x = call.x(0);
  const Value centred = x - reduce_mean(x, axes, true);
  return centred / (sqrt(reduce_mean(square(centred), axes, true)) + 1e-9);
}

/// Before opset 13 a softmax saw a matrix: all axes before `axis`, and all from it on.
template <class Build>
Value over_rows(const NodeCall& call, Build&& build) {
  const Value& x = call.x(0);
  if (call.version() >= 13) {
    return build(x, call.axis("axis", -1));
  }
  const int axis = x.shape().normalize_axis(call.axis("axis", 1));
  if (axis == x.rank() - 1) {
    return build(x, -1);
  }
  Extent before = 1;
  Extent behind = 1;
  for (int i = 0; i < x.rank(); ++i) {
    (i < axis ? before : behind) *= x.extent(i);
  }
  return reshape(build(reshape(x, {before, behind}), -1), x.shape().axes());
}

Results softmax_of(const NodeCall& call) { return over_rows(call, softmax); }
Results log_softmax_of(const NodeCall& call) { return over_rows(call, log_softmax); }

Results hardmax(const NodeCall& call) {
  return over_rows(call, [](const Value& x, int axis) {
    const int normal = x.shape().normalize_axis(axis);
    const Value best = argmax(x, normal, true);
    return cast(eq(iota(x.shape().with_dtype(Dtype::i64), normal), best), x.dtype());
  });
}

/// x / (bias + alpha / size * sum of squares of neighbouring channels) ^ beta.
Results local_response(const NodeCall& call) {
  const Value& x = call.x(0);
  const int64_t size = call.count_attribute("size");
  if (x.rank() < 2) {
    refuse("the input has {} axes, must have 2 or more", x.rank());
  }
  const double alpha = call.number_attribute("alpha", 1e-4) / static_cast<double>(size);
  // The channels as positions of a pool.
  Extent behind = 1;
  for (int i = 2; i < x.rank(); ++i) {
    behind = behind * x.extent(i);
  }
  const Value squares = reshape(square(x), {x.shape().axis(0), 1, x.shape().axis(1), behind});
  const Value sums = sum_pool(squares, {size, 1},
                              {.stride = {1, 1}, .low = {(size - 1) / 2, 0}, .high = {size - 1 - (size - 1) / 2, 0}});
  const Value sum = reshape(sums, x.shape().axes());
  return x / pow(sum * alpha + call.number_attribute("bias", 1), call.number_attribute("beta", 0.75));
}

}  // namespace

std::vector<OperatorEntry> norm_operators() {
  return {
      {"", "BatchNormalization", 1, batch_normalization},
      {"", "InstanceNormalization", 1, instance_normalization},
      {"", "RMSNormalization", 23, rms_normalization},
      {"", "LayerNormalization", 17, layer_normalization},
      {"", "LayerNormalization", 1, layer_normalization},  // written by exporters before it was standard
      {"", "GroupNormalization", 18, group_normalization},
      {"", "LpNormalization", 1, lp_normalization},
      {"", "MeanVarianceNormalization", 1, mean_variance_normalization},
      {"", "Softmax", 1, softmax_of},
      {"", "LogSoftmax", 1, log_softmax_of},
      {"", "Hardmax", 1, hardmax},
      {"", "LRN", 1, local_response},
  };
}

}  // namespace tenon::importer
