// Attention: a product, a scale and masks in any order, a softmax and a product.
#include <cmath>
#include <limits>

#include "ir/kinds.h"
#include "ops/axes.h"
#include "passes/recognize/recognize.h"
#include "passes/rewriting/match.h"
#include "passes/rewriting/merge_views.h"
#include "passes/rewriting/uniform.h"
#include "tenon/nn.h"

namespace tenon::passes {
namespace {

using namespace match;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// Adding less than this to a score of any usual size gives just this: a fill is as good as a summand.
constexpr double kLeastFill = -1e30;

/// What changes scores: a value that is added, or a condition for seeing the key and the score of what is not seen.
struct Mask {
  Value value;
  std::optional<double> fill = {};
  double factor = 1;  // of what is added, when a scale comes after it
};

struct Scores {
  Value product;
  double scale = 1;
  bool by_depth = false;  // also divided by the root of the depth, as an extent
  std::vector<Mask> masks = {};
};

/// The value before it was broadcast as NumPy does, which attention does itself.
Value before_broadcast(const Value& value) {
  const auto* spread = value.node().as<Broadcast>();
  if (spread == nullptr) {
    return value;
  }
  const Value& source = value.node().inputs[0];
  for (int i = 0; i < source.rank(); ++i) {
    if (spread->axes[static_cast<size_t>(i)] != value.rank() - source.rank() + i) {
      return value;
    }
  }
  return source;
}

/// The extent, of sqrt(extent).
std::optional<Extent> root_of_extent(const Seen& seen, std::string_view row) {
  const std::vector<Seen> of = map_of(seen, row);
  const auto* extent = of.empty() ? nullptr : of[0].value.node().as<Iota>();
  return extent != nullptr && extent->shape.rank() == 0 ? std::optional(extent->start) : std::nullopt;
}

std::optional<Scores> scores(const Value& value, int depth = 6);

std::optional<Scores> scaled_scores(const Value& inner, const Value& by, bool divides, int depth) {
  const std::optional<double> number = uniform_number(by);
  const std::optional<Extent> extent = root_of_extent(look(by), divides ? "sqrt" : "rsqrt");
  std::optional<Scores> found = number || extent ? scores(inner, depth - 1) : std::nullopt;
  if (!found) {
    return std::nullopt;
  }
  if (extent) {
    const auto* product = found->product.node().as<Contract>();
    const Extent& contracted = found->product.node().inputs[0].extent(product->lhs_contract[0]);
    // A mask before it would have to be scaled by an extent too.
    if (found->by_depth || *extent != contracted || !found->masks.empty()) {
      return std::nullopt;
    }
    found->by_depth = true;
    return found;
  }
  const double factor = divides ? 1 / *number : *number;
  if (!(factor > 0) || !std::isfinite(factor)) {
    return std::nullopt;
  }
  found->scale *= factor;
  for (Mask& mask : found->masks) {
    mask.factor *= mask.fill ? 1 : factor;
  }
  return found;
}

std::optional<Scores> scores(const Value& value, int depth) {
  if (const auto* product = value.node().as<Contract>()) {
    return product->lhs_contract.size() == 1 ? std::optional(Scores{.product = value}) : std::nullopt;
  }
  if (depth == 0) {
    return std::nullopt;
  }
  for (const auto& [inner, by] : commuted(value, "mul")) {
    if (auto found = scaled_scores(inner, by, false, depth)) {
      return found;
    }
  }
  if (const auto* quotient = map_of(value, "div")) {
    return scaled_scores((*quotient)[0], (*quotient)[1], true, depth);
  }
  for (const auto& [inner, mask] : commuted(value, "add")) {
    if (auto found = scores(inner, depth - 1)) {
      found->masks.push_back({.value = before_broadcast(mask)});
      return found;
    }
  }
  if (const auto* choice = map_of(value, "select")) {
    const std::optional<double> fill = uniform_number((*choice)[2]);
    auto found = fill && *fill <= kLeastFill ? scores((*choice)[1], depth - 1) : std::nullopt;
    if (found) {
      found->masks.push_back({.value = before_broadcast((*choice)[0]), .fill = fill});
    }
    return found;
  }
  return std::nullopt;
}

/// An operand of a product with its batch axes first, then `second` and `last`.
Value arranged(const Value& x, Axes order) {
  if (order == other_axes(x.rank(), {})) {
    return x;
  }
  const auto merged = merged_view(Transpose{order}, x);
  return merged ? *merged : transpose(x, order);
}

Axes with(Axes axes, int second, int last) {
  axes.push_back(second);
  axes.push_back(last);
  return axes;
}

/// x and the number it is multiplied by.
std::pair<Value, double> without_scale(const Value& value) {
  for (const auto& [x, by] : commuted(value, "mul")) {
    if (const auto number = uniform_number(by)) {
      return {x, *number};
    }
  }
  const auto* quotient = map_of(value, "div");
  const auto number = quotient != nullptr ? uniform_number((*quotient)[1]) : std::nullopt;
  return number ? std::pair((*quotient)[0], 1 / *number) : std::pair(value, 1.0);
}

/// An operand of attention, and how its axes are to be arranged.
struct Side {
  Value value;
  Axes order;
};

/// Keys or values whose heads were repeated for queries that share them, before that: [..., kv_heads, n, m] of
/// [..., kv_heads, group, n, m] of [..., heads, n, m]. Attention shares them itself.
Side without_repeats(const Side& side) {
  Value whole = side.value;
  if (const auto* turned = whole.node().as<Transpose>()) {
    Axes back;
    for (const int axis : side.order) {
      back.push_back(turned->axes[static_cast<size_t>(axis)]);
    }
    whole = back == other_axes(whole.rank(), {}) ? whole.node().inputs[0] : whole;
  } else if (side.order != other_axes(whole.rank(), {})) {
    return side;
  }
  const int group = whole.rank() - 2;
  if (whole.node().as<Reshape>() == nullptr || whole.node().inputs[0].rank() != whole.rank() + 1) {
    return side;
  }
  const Value& repeated = whole.node().inputs[0];
  const Seen seen = look(repeated);
  if (repeated.node().as<Broadcast>() == nullptr || seen.places != other_axes(repeated.rank(), {group})) {
    return side;
  }
  for (int i = 0; i < whole.rank(); ++i) {
    const int place = seen.places[static_cast<size_t>(i)];
    const Extent kept = i == group - 1 ? repeated.extent(place) * repeated.extent(group) : repeated.extent(place);
    if (seen.value.extent(i) != repeated.extent(place) || whole.extent(i) != kept) {
      return side;
    }
  }
  return {.value = seen.value, .order = other_axes(whole.rank(), {})};
}

/// Key j is seen by query i when j <= i + (keys - queries): what the builder makes of `causal`.
bool is_causal(const Value& mask, const Value& product) {
  const Axis& query = product.shape().axis(-2);
  const Axis& key = product.shape().axis(-1);
  const Shape shape(Dtype::i64, {query, key});
  return mask == le(iota(shape, 1), iota(shape, 0, key.extent() - query.extent()));
}

/// What goes into attention() besides q, k and v.
struct AttentionParts {
  Axes q_order, k_order, v_order;
  std::vector<Mask> masks;
  bool causal = false;
  std::optional<double> scale;
};

/// One mask for all: as a condition where there is nothing else, else as a sum.
Value combined_mask(const std::vector<Mask>& masks, const std::vector<Value>& values, Dtype dtype) {
  if (masks.size() == 1 && masks[0].fill == -kInfinity) {
    return values[0];
  }
  Value sum;
  for (size_t i = 0; i < masks.size(); ++i) {
    const Value summand = masks[i].fill ? select(values[i], scalar(dtype, 0), scalar(dtype, *masks[i].fill))
                                        : (masks[i].factor == 1 ? values[i] : values[i] * masks[i].factor);
    sum = sum ? sum + summand : summand;
  }
  return sum;
}

/// The axes of `op`'s operand that are neither batch nor contracted, when that is one.
std::optional<int> free_axis(const Value& operand, const Axes& batch, const Axes& contracted) {
  const Axes free = other_axes(operand.rank(), batch, contracted);
  return free.size() == 1 ? std::optional(free[0]) : std::nullopt;
}

}  // namespace

std::optional<Recognized> find_attention(const Value& result) {
  const auto* mixing = result.node().as<Contract>();
  if (mixing == nullptr || !is_float(result.dtype()) || result.rank() < 3) {
    return std::nullopt;
  }
  const Value& weights = result.node().inputs[0];
  const Value& v = result.node().inputs[1];
  const auto* call = weights.node().as<Call>();
  const int rank = weights.rank();
  const bool weighs = call != nullptr && call->body.name() == "softmax" &&
                      softmax(weights.node().inputs[0], -1) == weights && mixing->lhs_contract == Axes{rank - 1} &&
                      mixing->lhs_batch == other_axes(rank - 2, {});
  const std::optional<int> value_depth = free_axis(v, mixing->rhs_batch, mixing->rhs_contract);
  std::optional<Scores> found = weighs && value_depth ? scores(weights.node().inputs[0]) : std::nullopt;
  if (!found || found->product.rank() != rank) {
    return std::nullopt;
  }
  const Node& product = found->product.node();
  const auto* op = product.as<Contract>();
  const std::optional<int> query = free_axis(product.inputs[0], op->lhs_batch, op->lhs_contract);
  const std::optional<int> key = free_axis(product.inputs[1], op->rhs_batch, op->rhs_contract);
  if (!query || !key) {
    return std::nullopt;
  }
  const auto [q, q_scale] = without_scale(product.inputs[0]);
  const auto [k, k_scale] = without_scale(product.inputs[1]);
  const double scale = found->scale * q_scale * k_scale;
  const std::optional<int64_t> depth = q.extent(op->lhs_contract[0]).constant();
  const bool usual = found->by_depth
                         ? is_near(scale, 1, q.dtype())
                         : depth && *depth > 0 && is_near(scale, 1 / std::sqrt(static_cast<double>(*depth)), q.dtype());
  if (found->by_depth && !usual) {
    return std::nullopt;
  }
  const Side keys = without_repeats({.value = k, .order = with(op->rhs_batch, *key, op->rhs_contract[0])});
  const Side values =
      without_repeats({.value = v, .order = with(mixing->rhs_batch, mixing->rhs_contract[0], *value_depth)});
  AttentionParts plan{.q_order = with(op->lhs_batch, *query, op->lhs_contract[0]),
                      .k_order = keys.order,
                      .v_order = values.order,
                      .masks = {},
                      .scale = usual ? std::nullopt : std::optional(scale)};
  std::vector<Value> operands{q, keys.value, values.value};
  for (const Mask& mask : found->masks) {
    if (mask.fill == -kInfinity && !plan.causal && is_causal(mask.value, found->product)) {
      plan.causal = true;
    } else {
      plan.masks.push_back(mask);
      operands.push_back(mask.value);
    }
  }
  return Recognized{.operands = operands, .build = [plan](const std::vector<Value>& in) {
                      const std::vector<Value> masks(in.begin() + 3, in.end());
                      return attention(
                          arranged(in[0], plan.q_order), arranged(in[1], plan.k_order), arranged(in[2], plan.v_order),
                          {.mask = masks.empty() ? Value() : combined_mask(plan.masks, masks, in[0].dtype()),
                           .causal = plan.causal,
                           .scale = plan.scale,
                           .zeros = false});
                    }};
}

}  // namespace tenon::passes
