// Softmax and its relatives. The difference to the maximum is one Value: two users that computed it differently would
// break large logits.
#include "ops/composites/composite.h"
#include "tenon/nn.h"

namespace tenon {
namespace {

/// x with its largest element along `axis` at 0. What is made of it is the same wherever 0 lies, so that no gradient
/// flows through the maximum.
Value shifted(const Value& x, const Axes& axes) {
  const Value wide = widen(x);
  return wide - stop_gradient(reduce_max(wide, axes, true));
}

}  // namespace

Value softmax(const Value& x, int axis) {
  return composite_of("softmax", {{"x", x}}, [&](const Parts& in) {
    require_float(in[0], "x");
    const Axes axes{x.shape().normalize_axis(axis)};
    const Value powers = exp_normal(shifted(in[0], axes));
    // One division a row. The sum is at least 1, so that its inverse is a number where it is one.
    return cast(powers * reciprocal(reduce_sum(powers, axes, true)), x.dtype());
  });
}

Value log_softmax(const Value& x, int axis) {
  return composite_of("log_softmax", {{"x", x}}, [&](const Parts& in) {
    require_float(in[0], "x");
    const Axes axes{x.shape().normalize_axis(axis)};
    const Value difference = shifted(in[0], axes);
    return cast(difference - log(reduce_sum(exp_normal(difference), axes, true)), x.dtype());
  });
}

Value logsumexp(const Value& x, const Axes& axes, bool keep) {
  return composite_of("logsumexp", {{"x", x}}, [&](const Parts& in) {
    require_float(in[0], "x");
    const Axes reduced = reduced_axes(axes, x.shape());
    const Value wide = widen(in[0]);
    // An infinite maximum (no elements, or infinities) has no difference to take; without it the sum is right as it is.
    const Value largest = stop_gradient(reduce_max(wide, reduced, true));
    const Value anchor = select(isfinite(largest), largest, 0.0);
    const Value result = log(reduce_sum(exp_normal(wide - anchor), reduced, true)) + anchor;
    return cast(keep ? result : squeeze(result, reduced), x.dtype());
  });
}

}  // namespace tenon
