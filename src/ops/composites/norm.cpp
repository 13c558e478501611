// Normalisation by moments of x itself, and by given ones.
#include "base/refused.h"
#include "ops/axes.h"
#include "ops/composites/composite.h"
#include "tenon/nn.h"

namespace tenon {
namespace {

/// x times `scale` plus `bias`, each where it is there; both belong to `axes`.
Value scale_and_shift(const Value& x, const Value& scale, const Value& bias, const Axes& axes) {
  Value y = x;
  if (scale) {
    y = y * along_axes(widen(scale), x.rank(), axes, "scale");
  }
  if (bias) {
    y = y + along_axes(widen(bias), x.rank(), axes, "bias");
  }
  // A parameter must not widen x: [1, n] against a scale of 3 is a mistake, not a broadcast.
  for (int i = 0; i < x.rank(); ++i) {
    if (compare(y.extent(i), x.extent(i)) == Comparison::different) {
      refuse("axis {} of `x` is {}, its parameters have {}", i, x.shape().axis(i).to_string(),
             y.shape().axis(i).to_string());
    }
  }
  return y;
}

struct Moments {
  Value mean;
  Value centred;  // x - mean, the one difference that variance and result both use
  Value variance;
};

/// Of `wide` over `axes`, which are kept.
Moments moments(const Value& wide, const Axes& axes) {
  const Value mean = reduce_mean(wide, axes, true);
  const Value centred = wide - mean;
  return {mean, centred, reduce_mean(square(centred), axes, true)};
}

Value normalize(const Value& wide, const Axes& axes, double epsilon) {
  const Moments m = moments(wide, axes);
  return m.centred * rsqrt(m.variance + epsilon);
}

void require_channels(const Value& x) {
  require_float(x, "x");
  if (x.rank() < 2) {
    refuse("`x` has rank {}, must be [batch, channel, position...]", x.rank());
  }
}

/// All axes but `axis`.
Axes around(const Value& x, int axis) { return other_axes(x.rank(), {axis}); }

}  // namespace

Value layer_norm(const Value& x, const Value& scale, const Value& bias, const Axes& axes, double epsilon) {
  return composite_of("layer_norm", {{"x", x}, {"scale", scale}, {"bias", bias}}, [&](const Parts& in) {
    require_float(in[0], "x");
    const Axes reduced = reduced_axes(axes, x.shape());
    const Value normal = normalize(widen(in[0]), reduced, epsilon);
    return cast(scale_and_shift(normal, in[1], in[2], reduced), x.dtype());
  });
}

Value rms_norm(const Value& x, const Value& scale, const Axes& axes, double epsilon) {
  return composite_of("rms_norm", {{"x", x}, {"scale", scale}}, [&](const Parts& in) {
    require_float(in[0], "x");
    const Axes reduced = reduced_axes(axes, x.shape());
    const Value wide = widen(in[0]);
    const Value normal = wide * rsqrt(reduce_mean(square(wide), reduced, true) + epsilon);
    return cast(scale_and_shift(normal, in[1], {}, reduced), x.dtype());
  });
}

Value group_norm(const Value& x, const Value& scale, const Value& bias, int64_t groups, double epsilon) {
  return composite_of("group_norm", {{"x", x}, {"scale", scale}, {"bias", bias}}, [&](const Parts& in) {
    require_channels(in[0]);
    const Extent& channels = x.extent(1);
    if (groups < 1 || (channels.is_constant() && *channels.constant() % groups != 0)) {
      refuse("{} channels do not make {} groups", x.shape().axis(1).to_string(), groups);
    }
    std::vector<Axis> grouped = x.shape().axes();
    grouped[1] = groups;
    grouped.insert(grouped.begin() + 2, Axis(divide_exactly(channels, groups).value_or(floordiv(channels, groups))));
    const Value split = reshape(widen(in[0]), grouped);
    const Value normal = reshape(normalize(split, other_axes(split.rank(), {0, 1}), epsilon), x.shape().axes());
    return cast(scale_and_shift(normal, in[1], in[2], {1}), x.dtype());
  });
}

Value instance_norm(const Value& x, const Value& scale, const Value& bias, double epsilon) {
  return composite_of("instance_norm", {{"x", x}, {"scale", scale}, {"bias", bias}}, [&](const Parts& in) {
    require_channels(in[0]);
    if (x.rank() < 3) {
      refuse("`x` has no position axis to take moments over");
    }
    const Value normal = normalize(widen(in[0]), other_axes(x.rank(), {0, 1}), epsilon);
    return cast(scale_and_shift(normal, in[1], in[2], {1}), x.dtype());
  });
}

Value batch_norm(const Value& x, const Value& scale, const Value& bias, const Value& mean, const Value& variance,
                 double epsilon, int axis) {
  const std::vector<NamedPart> parts{
      {"x", x}, {"scale", scale}, {"bias", bias}, {"mean", mean}, {"variance", variance}};
  return composite_of("batch_norm", parts, [&](const Parts& in) {
    require_float(in[0], "x");
    require_float(in[3], "mean");
    require_float(in[4], "variance");
    const Axes channel{x.shape().normalize_axis(axis)};
    const Value wide = widen(in[0]);
    const Value centred = wide - along_axes(widen(in[3]), x.rank(), channel, "mean");
    const Value normal = centred * rsqrt(along_axes(widen(in[4]), x.rank(), channel, "variance") + epsilon);
    return cast(scale_and_shift(normal, in[1], in[2], channel), x.dtype());
  });
}

BatchNorm batch_norm_training(const Value& x, const Value& scale, const Value& bias, const Value& running_mean,
                              const Value& running_variance, double momentum, double epsilon, int axis) {
  const std::vector<NamedPart> parts{{"x", x},
                                     {"scale", scale},
                                     {"bias", bias},
                                     {"running_mean", running_mean},
                                     {"running_variance", running_variance}};
  const std::vector<Value> results =
      composites_of("batch_norm_training", parts, [&](const Parts& in) -> std::vector<Output> {
        require_float(in[0], "x");
        require_float(in[3], "running_mean");
        require_float(in[4], "running_variance");
        const Axes channel{x.shape().normalize_axis(axis)};
        const Axes reduced = around(in[0], channel[0]);
        const Moments m = moments(widen(in[0]), reduced);
        const Value y = scale_and_shift(m.centred * rsqrt(m.variance + epsilon), in[1], in[2], channel);

        Extent count = 1;
        for (const int i : reduced) {
          count *= x.extent(i);
        }
        const Dtype wide = m.variance.dtype();
        const Value unbiased = m.variance * (extent_value(count, wide) / extent_value(max(count - 1, 1), wide));
        const auto blend = [&](const Value& running, const Value& fresh) {
          return cast(widen(running) * (1 - momentum) + squeeze(fresh, reduced) * momentum, running.dtype());
        };
        return {{"y", cast(y, x.dtype())},
                {"running_mean", blend(in[3], m.mean)},
                {"running_variance", blend(in[4], unbiased)}};
      });
  return {results[0], results[1], results[2]};
}

}  // namespace tenon
