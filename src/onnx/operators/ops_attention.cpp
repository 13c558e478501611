// Attention and what goes with it, as ONNX has it since opset 23.
#include <cmath>
#include <limits>

#include "base/refused.h"
#include "onnx/import/registry.h"
#include "onnx/operators/heads.h"
#include "tenon/control.h"
#include "tenon/convolution.h"
#include "tenon/indexing.h"
#include "tenon/nn.h"

namespace tenon::importer {
namespace {

constexpr double kUnseen = -std::numeric_limits<double>::infinity();

/// Queries, keys and values as [batch, heads, seq, depth], with the past before them.
struct AttentionInputs {
  Value q, k, v;
  Extent past = 0;
  Value nonpad = {};  // i64[batch]: how many keys of each element count; or none
};

AttentionInputs read_attention(const NodeCall& call) {
  require_rank(call.x(0), 3, 4, "the query");
  const bool is_packed = call.x(0).rank() == 3;
  const auto as_heads = [&](size_t i, std::string_view heads) {
    require_rank(call.x(i), call.x(0).rank(), call.x(0).rank(), i == 1 ? "the key" : "the value");
    return is_packed ? to_heads(call.x(i), call.count_attribute(heads)) : call.x(i);
  };
  AttentionInputs in{.q = is_packed ? to_heads(call.x(0), call.count_attribute("q_num_heads")) : call.x(0),
                     .k = as_heads(1, "kv_num_heads"),
                     .v = as_heads(2, "kv_num_heads")};
  if (call.has(4) && call.has(5)) {
    in.past = call.x(4).extent(2);
    in.k = concat({call.x(4), in.k}, 2);
    in.v = concat({call.x(5), in.v}, 2);
  }
  if (call.has(6)) {
    in.nonpad = cast(call.x(6), Dtype::i64);
  }
  return in;
}

/// Which keys a query may see by its place: bool, broadcast to [batch, heads, query, key]; or none.
Value seen_by_place(const NodeCall& call, const AttentionInputs& in) {
  const Extent& queries = in.q.extent(2);
  const Value key = iota(shape(Dtype::i64, 1, 1, 1, in.k.extent(2)), 3);
  const Value row = iota(shape(Dtype::i64, 1, 1, queries, 1), 2);
  const Value nonpad = in.nonpad ? reshape(in.nonpad, {in.q.shape().axis(0), 1, 1, 1}) : Value();
  const Value before = nonpad ? nonpad - extent_value(queries) : extent_value(in.past);
  const Value place = row + before;
  Value seen;
  const auto restrict_to = [&](const Value& allowed) { seen = seen ? logical_and(seen, allowed) : allowed; };
  if (call.flag("is_causal")) {
    restrict_to(le(key, place));
  }
  if (const int64_t left = call.attribute("left_window_size", -1); left >= 0) {
    restrict_to(ge(key, place - static_cast<double>(left)));
  }
  if (const int64_t right = call.attribute("right_window_size", -1); right >= 0) {
    restrict_to(le(key, place + static_cast<double>(right)));
  }
  if (nonpad) {
    restrict_to(lt(key, nonpad));
  }
  return seen;
}

/// The mask that is given, as long as there are keys.
Value given_mask(const NodeCall& call, const AttentionInputs& in) {
  if (!call.has(3)) {
    return {};
  }
  const Value& mask = call.x(3);
  const Extent missing = simplify(max(in.k.extent(2) - mask.extent(-1), 0));
  if (mask.extent(-1) == Extent(1) || missing == Extent(0) || !mask.extent(-1).is_constant()) {
    return mask;
  }
  std::vector<Extent> low(static_cast<size_t>(mask.rank()), 0);
  std::vector<Extent> high = low;
  high.back() = missing;
  return pad(mask, low, high, "constant", mask.dtype() == Dtype::boolean ? 0 : kUnseen);
}

Value joined_mask(const Value& mask, const Value& seen, Dtype dtype) {
  if (!mask || !seen) {
    return mask ? mask : seen;
  }
  return mask.dtype() == Dtype::boolean ? logical_and(mask, seen) : select(seen, cast(mask, dtype), kUnseen);
}

/// Scores one by one, where somebody wants to see them, or to change them on the way.
Results attention_in_steps(const NodeCall& call, const AttentionInputs& in, const Value& mask,
                           std::optional<double> scale) {
  const Dtype dtype = in.q.dtype();
  const auto shared = [&](const Value& x) {
    const std::optional<int64_t> times = divide_exactly(in.q.extent(1), x.extent(1)).value_or(Extent(0)).constant();
    if (!times || *times < 1) {
      refuse("{} query heads do not share {} heads of keys", in.q.extent(1).to_string(), x.extent(1).to_string());
    }
    return *times == 1 ? x : repeat_interleave(x, *times, 1);
  };
  const Value depth = extent_value(in.q.extent(3), compute_dtype(dtype));
  const Value factor = scale ? scalar(dtype, std::sqrt(*scale)) : cast(sqrt(1 / sqrt(depth)), dtype);
  const Value raw = matmul(in.q * factor, transpose(shared(in.k) * factor, {0, 1, 3, 2}));
  const double cap = call.number_attribute("softcap", 0);
  const Value capped = cap > 0 ? tanh(raw / cap) * cap : raw;
  Value biased = capped;
  if (mask) {
    biased = mask.dtype() == Dtype::boolean ? select(mask, capped, kUnseen) : capped + cast(mask, dtype);
  }
  const Dtype precise = call.dtype_attribute("softmax_precision", dtype);
  const Value weights = softmax(cast(biased, precise), -1);
  const Value is_empty = eq(reduce_max(biased, {-1}, true), kUnseen);
  const Value probabilities = select(is_empty, scalar(dtype, 0), cast(weights, dtype));
  const Value y = matmul(probabilities, shared(in.v));
  const int64_t mode = call.attribute("qk_matmul_output_mode", 0);
  const Value scores = mode == 0 || mode == 1 ? (mode == 0 && cap <= 0 ? raw : capped)
                       : mode == 2            ? biased
                                              : probabilities;
  return std::vector<Value>{call.x(0).rank() == 3 ? from_heads(y) : y, in.k, in.v, scores};
}

Results attention_of(const NodeCall& call) {
  const AttentionInputs in = read_attention(call);
  const Value mask = joined_mask(given_mask(call, in), seen_by_place(call, in), in.q.dtype());
  const std::optional<double> scale =
      call.has_attribute("scale") ? std::optional(call.number_attribute("scale", 1)) : std::nullopt;
  const bool is_plain =
      !call.wants(3) && call.number_attribute("softcap", 0) == 0 && !call.has_attribute("softmax_precision");
  if (!is_plain) {
    return attention_in_steps(call, in, mask, scale);
  }
  const Value y = attention(in.q, in.k, in.v, {.mask = mask, .causal = false, .scale = scale});
  return std::vector<Value>{call.x(0).rank() == 3 ? from_heads(y) : y, in.k, in.v};
}

Results rotary(const NodeCall& call) {
  const Value& x = call.x(0);
  require_rank(x, 3, 4, "the input");
  const Value heads = x.rank() == 3 ? to_heads(x, call.count_attribute("num_heads")) : x;
  const Value cosines = call.has(3) ? take(call.x(1), call.x(3)) : call.x(1);
  const Value sines = call.has(3) ? take(call.x(2), call.x(3)) : call.x(2);
  require_rank(cosines, 3, 3, "the cosines at each place");
  const Value y = turned_by_tables(heads, cosines, sines, call.flag("interleaved"));
  return x.rank() == 3 ? from_heads(y) : y;
}

/// Rows of a cache written at a place of each batch element.
Results tensor_scatter(const NodeCall& call) {
  const Value& cache = call.x(0);
  const Value& update = call.x(1);
  const int axis = cache.shape().normalize_axis(call.axis("axis", -2));
  const Extent& length = update.extent(axis);
  Value place = iota(shape(Dtype::i64, update.extent(0), length), 1);
  if (call.has(2)) {
    place = place + expand_dims(cast(call.x(2), Dtype::i64), {1});
  }
  if (call.text_attribute("mode", "linear") == "circular") {
    place = mod(place, extent_value(cache.extent(axis)));
  }
  return scatter_along_axis(cache, broadcast(place, update.shape().axes(), {0, axis}), update, axis);
}

/// A convolution of each channel with itself, whose padding is the end of what came before.
Results causal_conv(const NodeCall& call) {
  const Value& x = call.x(0);
  const Value& w = call.x(1);
  require_rank(x, 3, 3, "the input");
  require_rank(w, 3, 3, "the weight");
  const Extent past = w.extent(2) - 1;
  const Value before =
      call.has(3) ? call.x(3) : full(Shape(x.dtype(), {x.shape().axis(0), x.shape().axis(1), Axis(past)}), 0);
  const Value all = concat({before, x}, 2);
  const std::optional<int64_t> channels = x.extent(1).constant();
  if (!channels) {
    refuse("the number of channels must be known, not {}", x.extent(1).to_string());
  }
  Value y = conv(all, w, {.groups = *channels});
  if (call.has(2)) {
    y = y + expand_dims(call.x(2), {1});
  }
  const std::string activation = call.text_attribute("activation", "none");
  if (activation == "silu" || activation == "swish") {
    y = silu(y);
  } else if (activation != "none") {
    refuse("activation is `{}`, must be silu, swish or none", activation);
  }
  return std::vector<Value>{y, slice_axis(all, 2, x.extent(2))};
}

/// State by state: S = decay * S + k (v - ...)^T, o = scale * S^T q.
Results linear_attention(const NodeCall& call) {
  const int64_t heads = call.count_attribute("q_num_heads");
  const int64_t kv_heads = call.count_attribute("kv_num_heads");
  const std::string rule = call.text_attribute("update_rule", "gated_delta");
  const bool gated = rule == "gated" || rule == "gated_delta";
  const bool delta = rule == "delta" || rule == "gated_delta";
  if (!gated && !delta && rule != "linear") {
    refuse("update_rule is `{}`, must be linear, gated, delta or gated_delta", rule);
  }
  if (heads % kv_heads != 0) {
    refuse("{} query heads do not share {} heads of keys", heads, kv_heads);
  }
  const Dtype dtype = call.x(0).dtype();
  const Dtype wide = compute_dtype(dtype);
  const auto by_time = [&](const Value& x, int64_t count) {  // [seq, batch, heads, depth]
    return cast(transpose(to_heads(x, count), {2, 0, 1, 3}), wide);
  };
  const Value q = by_time(call.x(0), heads);
  const Value k = by_time(call.x(1), kv_heads);
  const Value v = by_time(call.x(2), kv_heads);
  const Shape state_shape(wide, {k.shape().axis(1), Axis(kv_heads), k.shape().axis(3), v.shape().axis(3)});
  const Value initial = call.has(3) ? cast(call.x(3), wide) : full(state_shape, 0);
  std::vector<Value> scanned = {q, k, v};
  if (gated) {
    scanned.push_back(by_time(call.x(4), kv_heads));
  }
  if (delta) {
    scanned.push_back(by_time(call.x(5), call.x(5).extent(2) == Extent(1) ? 1 : kv_heads));
  }
  const double given = call.number_attribute("scale", 0);
  const Value scale = given != 0 ? scalar(wide, given) : 1 / sqrt(extent_value(q.extent(3), wide));
  const ScanStep result =
      scan({initial}, scanned,
           [&](const Value&, const std::vector<Value>& carried, const std::vector<Value>& at) -> ScanStep {
             Value state = gated ? carried[0] * expand_dims(exp(at[3]), {3}) : carried[0];
             const Value key = expand_dims(at[1], {3});  // [batch, heads, depth, 1]
             Value written = at[2];
             if (delta) {
               const Value held = reduce_sum(state * key, {2});
               written = (written - held) * at[gated ? 4 : 3];
             }
             state = reshape(state + key * expand_dims(written, {2}), carried[0].shape().axes());
             const Value shared = heads == kv_heads ? state : repeat_interleave(state, heads / kv_heads, 1);
             const Value seen = reduce_sum(shared * expand_dims(at[0], {3}), {2}) * scale;
             return {.carried = {state}, .stacked = {seen}};
           });
  const Value y = from_heads(transpose(result.stacked[0], {1, 2, 0, 3}));
  return std::vector<Value>{cast(y, dtype), cast(result.carried[0], dtype)};
}

}  // namespace

std::vector<OperatorEntry> attention_operators() {
  return {
      {"", "Attention", 23, attention_of},           {"", "RotaryEmbedding", 23, rotary},
      {"", "TensorScatter", 24, tensor_scatter},     {"", "CausalConvWithState", 27, causal_conv},
      {"", "LinearAttention", 27, linear_attention},
  };
}

}  // namespace tenon::importer
