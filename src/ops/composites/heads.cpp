// What surrounds attention: projections into heads, and back.
#include "base/refused.h"
#include "ops/axes.h"
#include "ops/composites/composite.h"
#include "ops/composites/dense.h"
#include "tenon/nn.h"

namespace tenon {
namespace {

/// [..., seq, heads * depth] as [..., heads, seq, depth].
Value split_heads(const Value& x, int64_t heads) {
  const Extent& width = x.extent(-1);
  if (heads < 1 || (width.is_constant() && *width.constant() % heads != 0)) {
    refuse("{} columns do not make {} heads", x.shape().axis(-1).to_string(), heads);
  }
  std::vector<Axis> to = x.shape().axes();
  to.back() = heads;
  to.emplace_back(divide_exactly(width, heads).value_or(floordiv(width, heads)));
  Axes order = other_axes(x.rank() + 1, {});
  std::swap(order[order.size() - 3], order[order.size() - 2]);
  return transpose(reshape(x, to), order);
}

/// [..., heads, seq, depth] as [..., seq, heads * depth].
Value merge_heads(const Value& x) {
  Axes order = other_axes(x.rank(), {});
  std::swap(order[order.size() - 3], order[order.size() - 2]);
  const Value moved = transpose(x, order);
  std::vector<Axis> to(moved.shape().axes().begin(), moved.shape().axes().end() - 2);
  to.emplace_back(moved.extent(-2) * moved.extent(-1));
  return reshape(moved, to);
}

void check_counts(const std::vector<Value>& w, const std::vector<Value>& bias) {
  if (w.size() != 1 && w.size() != 3) {
    refuse("takes one weight for q, k and v together or three, not {}", w.size());
  }
  if (!bias.empty() && bias.size() != w.size()) {
    refuse("has {} weights and {} biases", w.size(), bias.size());
  }
  for (const Value& each : w) {
    require_float(each, "w");
  }
}

std::vector<NamedPart> weight_parts(const std::vector<Value>& w, const std::vector<Value>& bias) {
  static constexpr std::string_view kWeights[] = {"w_q", "w_k", "w_v"};
  static constexpr std::string_view kBiases[] = {"bias_q", "bias_k", "bias_v"};
  std::vector<NamedPart> parts;
  for (size_t i = 0; i < 3; ++i) {
    parts.push_back({w.size() == 1 ? "w" : kWeights[i], i < w.size() ? w[i] : Value()});
  }
  for (size_t i = 0; i < 3; ++i) {
    parts.push_back({w.size() == 1 ? "bias" : kBiases[i], i < bias.size() ? bias[i] : Value()});
  }
  return parts;
}

/// `in` is x, then weight_parts().
Qkv project_heads(const Parts& in, int64_t heads, int64_t kv_heads) {
  const Value& x = in[0];
  require_float(x, "x");
  if (x.rank() < 2) {
    refuse("`x` has rank {}, must be [..., seq, width]", x.rank());
  }
  const auto projected = [&](size_t i, int64_t count) {
    return split_heads(cast(project(x, in[1 + i], in[4 + i]), x.dtype()), count);
  };
  if (in[2]) {
    return {projected(0, heads), projected(1, kv_heads), projected(2, kv_heads)};
  }
  const Value all = projected(0, heads + 2 * kv_heads);
  return {slice_axis(all, -3, 0, heads), slice_axis(all, -3, heads, heads + kv_heads),
          slice_axis(all, -3, heads + kv_heads)};
}

}  // namespace

Qkv qkv_dense(const Value& x, const std::vector<Value>& w, const std::vector<Value>& bias, int64_t heads,
              int64_t kv_heads) {
  std::vector<NamedPart> parts = weight_parts(w, bias);
  parts.insert(parts.begin(), {"x", x});
  const std::vector<Value> results = composites_of("qkv_dense", parts, [&](const Parts& in) -> std::vector<Output> {
    check_counts(w, bias);
    const Qkv qkv = project_heads(in, heads, kv_heads == 0 ? heads : kv_heads);
    return {{"q", qkv.q}, {"k", qkv.k}, {"v", qkv.v}};
  });
  return {results[0], results[1], results[2]};
}

Value multi_head_attention(const Value& x, const HeadWeights& weights, int64_t heads, const AttentionOptions& options,
                           const Value& context, int64_t kv_heads) {
  if (!context) {
    const Qkv qkv = qkv_dense(x, weights.w, weights.bias, heads, kv_heads);
    return dense(merge_heads(attention(qkv.q, qkv.k, qkv.v, options)), weights.w_out, weights.bias_out);
  }
  if (weights.w.size() != 3 || (!weights.bias.empty() && weights.bias.size() != 3)) {
    refuse("multi_head_attention: a context needs three weights and three biases or none, not {} and {}",
           weights.w.size(), weights.bias.size());
  }
  const auto projected = [&](const Value& from, size_t i, int64_t count) {
    const Value bias = weights.bias.empty() ? Value() : weights.bias[i];
    return split_heads(dense(from, weights.w[i], bias), count);
  };
  const int64_t shared = kv_heads == 0 ? heads : kv_heads;
  const Value mixed =
      attention(projected(x, 0, heads), projected(context, 1, shared), projected(context, 2, shared), options);
  return dense(merge_heads(mixed), weights.w_out, weights.bias_out);
}

}  // namespace tenon
