// Attention: scores, a softmax that knows of rows without any key, and the weighted sum.
#include <algorithm>
#include <limits>

#include "base/refused.h"
#include "ops/axes.h"
#include "ops/composites/composite.h"
#include "tenon/nn.h"

namespace tenon {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

void check_operands(const Value& q, const Value& k, const Value& v) {
  require_float(q, "q");
  require_float(k, "k");
  require_float(v, "v");
  if (q.rank() < 3 || k.rank() != q.rank() || v.rank() != q.rank()) {
    refuse("`q`, `k` and `v` have ranks {}, {} and {}; must be [..., heads, length, depth]", q.rank(), k.rank(),
           v.rank());
  }
  // Checked here, in the user's axes: the products below see reshaped ones.
  std::vector<Constraint> unused;
  const int rank = q.rank();
  match_axes(q, rank - 1, k, rank - 1, unused);
  match_axes(k, rank - 2, v, rank - 2, unused);
  match_axes(k, rank - 3, v, rank - 3, unused);
  for (int i = 0; i < rank - 3; ++i) {
    match_axes(q, i, k, i, unused);
    match_axes(q, i, v, i, unused);
  }
}

/// Query heads in groups that share a key head: x[..., heads, n, m] as [..., kv_heads, heads / kv_heads, n, m]; x as it
/// is when every query head has its own.
Value group_heads(const Value& x, const Axis& kv_heads) {
  const Extent& heads = x.extent(-3);
  const Extent& shared = kv_heads.extent();
  if (compare(heads, shared) == Comparison::equal) {
    return x;
  }
  if (heads.is_constant() && shared.is_constant() &&
      *heads.constant() % std::max<int64_t>(*shared.constant(), 1) != 0) {
    refuse("{} query heads do not share {} key heads evenly", x.shape().axis(-3).to_string(), kv_heads.to_string());
  }
  if (shared == Extent(0)) {
    refuse("there is no key head for {} query heads", x.shape().axis(-3).to_string());
  }
  std::vector<Axis> to = x.shape().axes();
  const auto place = to.end() - 3;
  *place = divide_exactly(heads, shared).value_or(floordiv(heads, shared));
  to.insert(place, kv_heads);
  return reshape(x, to);
}

/// x[..., kv_heads, (group,) n, m] times y[..., kv_heads, ...] over the last axis of x and `axis` of y.
Value grouped_product(const Value& x, const Value& y, int axis) {
  const Axes batch = other_axes(y.rank() - 2, {});
  return contract(x, y, {.lhs_batch = batch, .rhs_batch = batch, .lhs_contract = {-1}, .rhs_contract = {axis}},
                  compute_dtype(x.dtype()));
}

Value scale_scores(const Value& scores, const Extent& depth, const std::optional<double>& scale) {
  return scale ? scores * *scale : scores * rsqrt(extent_value(depth, scores.dtype()));
}

/// Scores with -inf where the mask hides a key; a float mask is added.
Value apply_mask(const Value& scores, const Value& mask) {
  if (mask.dtype() != Dtype::boolean) {
    require_float(mask, "mask");
  }
  const Value result =
      mask.dtype() == Dtype::boolean ? select(mask, scores, -kInfinity) : scores + cast(mask, scores.dtype());
  bool widened = result.rank() != scores.rank();
  for (int i = 0; i < scores.rank() && !widened; ++i) {
    widened = compare(result.extent(i), scores.extent(i)) == Comparison::different;
  }
  if (widened) {
    refuse("`mask` is {}, must broadcast to the scores, {}", mask.shape().to_string(), scores.shape().to_string());
  }
  return result;
}

/// Key j is seen by query i when j <= i + (keys - queries).
Value causal_mask(const Axis& query, const Axis& key) {
  const Shape shape(Dtype::i64, {query, key});
  return le(iota(shape, 1), iota(shape, 0, key.extent() - query.extent()));
}

/// Softmax along the last axis, zeros where every score is -inf if so asked.
Value weights_of(const Value& scores, bool zeros) {
  const Axes last{scores.rank() - 1};
  // Weights are the same whatever is taken off all scores of a row.
  const Value largest = stop_gradient(reduce_max(scores, last, true));
  if (!zeros) {
    const Value powers = exp_normal(scores - largest);
    return powers * reciprocal(reduce_sum(powers, last, true));
  }
  const Value powers = exp_normal(scores - select(eq(largest, -kInfinity), 0.0, largest));
  const Value sum = reduce_sum(powers, last, true);
  // The largest score of a row that sees a key gives 1, so a sum of 0 is a row that sees none.
  return powers * reciprocal(select(eq(sum, 0.0), 1.0, sum));
}

}  // namespace

Value attention(const Value& q, const Value& k, const Value& v, const AttentionOptions& options) {
  const std::vector<NamedPart> parts{{"q", q}, {"k", k}, {"v", v}, {"mask", options.mask}};
  return composite_of("attention", parts, [&](const Parts& in) {
    check_operands(in[0], in[1], in[2]);
    const Axis& kv_heads = k.shape().axis(-3);
    const Value products = grouped_product(group_heads(in[0], kv_heads), in[1], -1);

    std::vector<Axis> axes = q.shape().axes();
    axes.back() = k.shape().axis(-2);
    Value scores = scale_scores(reshape(products, axes), q.extent(-1), options.scale);
    if (in[3]) {
      scores = apply_mask(scores, in[3]);
    }
    if (options.causal) {
      scores = apply_mask(scores, causal_mask(q.shape().axis(-2), k.shape().axis(-2)));
    }
    const Value result = grouped_product(group_heads(weights_of(scores, options.zeros), kv_heads), widen(in[2]), -2);

    axes.back() = v.shape().axis(-1);
    return cast(reshape(result, axes), q.dtype());
  });
}

}  // namespace tenon
