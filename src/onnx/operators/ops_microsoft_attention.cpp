// Attention as the domain com.microsoft has it: three operators that differ in how queries, keys, values and masks
// come.
#include "base/refused.h"
#include "onnx/import/registry.h"
#include "onnx/operators/heads.h"
#include "tenon/indexing.h"
#include "tenon/nn.h"

namespace tenon::importer {
namespace {

std::optional<double> scale_of(const NodeCall& call) {
  const double scale = call.number_attribute("scale", 0);
  return scale == 0 ? std::nullopt : std::optional(scale);
}

/// What a mask of whole numbers says as what is added to scores: nothing where it is not 0, else the filter value.
Value added(const NodeCall& call, const Value& seen, Dtype dtype) {
  return select(seen, scalar(dtype, 0), call.number_attribute("mask_filter_value", -10000));
}

/// A mask of keys in one of its forms, to be added to scores[batch, heads, query, key].
Value key_mask(const NodeCall& call, const Value& mask, const Value& k) {
  const Extent& keys = k.extent(2);
  if (mask.rank() == 1) {
    if (mask.extent(0) != k.extent(0) && mask.extent(0).is_constant()) {
      refuse("a mask of {} beside a batch of {} is not supported", mask.shape().to_string(), k.extent(0).to_string());
    }
    call.require_equal(mask.extent(0), k.extent(0));
    const Value length = reshape(cast(mask, Dtype::i64), {k.shape().axis(0), 1, 1, 1});
    return added(call, lt(iota(shape(Dtype::i64, 1, 1, 1, keys), 3), length), k.dtype());
  }
  const Value seen = ne(mask, 0);
  return added(call,
               mask.rank() == 2   ? expand_dims(seen, {1, 2})
               : mask.rank() == 3 ? expand_dims(seen, {1})
                                  : seen,
               k.dtype());
}

Value sum_of(const Value& a, const Value& b) { return !a ? b : !b ? a : a + b; }

Value bias_or_none(const NodeCall& call, size_t i, Dtype dtype) {
  return call.has(i) ? cast(call.x(i), dtype) : Value();
}

/// One matrix gives queries, keys and values.
Results attention_packed(const NodeCall& call) {
  const Value& x = call.x(0);
  const int64_t heads = call.count_attribute("num_heads");
  const Value product = matmul(x, call.x(1));
  const Value all = call.has(2) ? product + call.x(2) : product;
  std::vector<int64_t> sizes = call.list_attribute("qkv_hidden_sizes");
  std::vector<Extent> widths(sizes.begin(), sizes.end());
  if (widths.empty()) {
    widths.assign(3, floordiv(all.extent(2), 3));
  }
  if (widths.size() != 3) {
    refuse("qkv_hidden_sizes has {} sizes, must have 3", widths.size());
  }
  const std::vector<Value> parts = split(all, 2, widths);
  Value k = to_heads(parts[1], heads);
  Value v = to_heads(parts[2], heads);
  if (call.has(4)) {  // [2, batch, heads, past, depth]
    const Value& past = call.x(4);
    k = concat({squeeze(slice_axis(past, 0, 0, 1), {0}), k}, 2);
    v = concat({squeeze(slice_axis(past, 0, 1, 2), {0}), v}, 2);
  }
  const Value mask = call.has(3) ? key_mask(call, call.x(3), k) : Value();
  const Value y = attention(to_heads(parts[0], heads), k, v,
                            {.mask = sum_of(mask, bias_or_none(call, 5, x.dtype())),
                             .causal = call.flag("unidirectional"),
                             .scale = scale_of(call)});
  return call.wants(1) ? std::vector<Value>{from_heads(y), stack({k, v}, 0)} : std::vector<Value>{from_heads(y)};
}

/// Queries, keys and values come apart, or keys and values as heads already.
Results multi_head(const NodeCall& call) {
  const Value& query = call.x(0);
  if (query.rank() != 3 || !call.has(1) || !call.has(2)) {
    refuse("queries, keys and values that are packed into one input are not supported");
  }
  const int64_t heads = call.count_attribute("num_heads");
  std::vector<Value> inputs = {query, call.x(1), call.x(2)};
  if (call.has(3)) {
    const Value& bias = call.x(3);
    Extent begin = 0;
    for (Value& input : inputs) {
      const Extent width = input.rank() == 3 ? input.extent(2) : input.extent(1) * input.extent(3);
      const Value part = slice_axis(bias, 0, begin, begin + width);
      input = input.rank() == 3 ? input + part : input;
      begin = begin + width;
    }
  }
  const auto as_heads = [&](const Value& x) { return x.rank() == 4 ? x : to_heads(x, heads); };
  Value k = as_heads(inputs[1]);
  Value v = as_heads(inputs[2]);
  if (call.has(6) && call.has(7)) {
    k = concat({call.x(6), k}, 2);
    v = concat({call.x(7), v}, 2);
  }
  const Value mask = call.has(4) ? key_mask(call, call.x(4), k) : Value();
  const Value y = attention(as_heads(inputs[0]), k, v,
                            {.mask = sum_of(mask, bias_or_none(call, 5, query.dtype())),
                             .causal = call.flag("unidirectional"),
                             .scale = scale_of(call)});
  return std::vector<Value>{from_heads(y), k, v};
}

Results rotary_embedding(const NodeCall& call) {
  const Value& x = call.x(0);
  const Value& positions = call.x(1);
  const Value& cosines = call.x(2);
  Value heads = x;
  if (x.rank() == 3) {
    const int64_t given = call.attribute("num_heads", 0);
    const Extent depth = cosines.extent(1) * 2;
    const std::optional<int64_t> count =
        given > 0 ? given : divide_exactly(x.extent(2), depth).value_or(Extent(0)).constant();
    if (!count || *count < 1) {
      refuse("the number of heads is not known");
    }
    heads = to_heads(x, *count);
  }
  const Extent& seq = heads.extent(2);
  const Shape grid = shape(Dtype::i64, heads.extent(0), seq);
  const Value at = positions.rank() == 1 ? iota(grid, 1) + cast(positions, Dtype::i64)
                                         : broadcast_to(cast(positions, Dtype::i64), grid.axes());
  const Value y = turned_by_tables(heads, take(cosines, at), take(call.x(3), at), call.flag("interleaved"));
  return x.rank() == 3 ? from_heads(y) : y;
}

/// Keys and values of the past, each batch element as long as it is, with the new ones behind them. Where an element is
/// shorter than the longest, what follows its end is never seen.
struct Cache {
  Value positions;  // i64[batch, seq], of the new ones

  Value joined(const Value& past, const Value& fresh) const {
    // A donated cache has room instead of the zeros, and gets the new ones in place.
    return scatter(concat({past, full(fresh.shape(), 0)}, 2), transpose(fresh, {0, 2, 1, 3}), {positions},
                   {.axes = {2}, .x_batch = {0}, .index_batch = {0}});
  }
};

/// Fewer key heads than query heads, a causal mask, lengths of each batch element, and rotation of queries and keys.
Results group_query(const NodeCall& call) {
  const int64_t heads = call.count_attribute("num_heads");
  const int64_t kv_heads = call.count_attribute("kv_num_heads");
  if (call.number_attribute("softcap", 0) != 0 || call.flag("smooth_softmax")) {
    refuse("softcap and smooth_softmax are not supported");
  }
  std::vector<Value> inputs = {call.x(0), call.x_or_none(1), call.x_or_none(2)};
  if (!inputs[1] || !inputs[2]) {
    const Extent depth = floordiv(inputs[0].extent(2), heads + 2 * kv_heads);
    inputs = split(inputs[0], 2, {depth * heads, depth * kv_heads, depth * kv_heads});
  }
  Value q = to_heads(inputs[0], heads);
  Value k = to_heads(inputs[1], kv_heads);
  Value v = to_heads(inputs[2], kv_heads);
  const Extent seq = q.extent(2);
  const Extent batch = q.extent(0);
  const Value last = reshape(cast(call.x(5), Dtype::i64), {q.shape().axis(0)});  // of each element, its length - 1
  const Value past_length = last + 1 - extent_value(seq);
  // In a prompt a shorter element is padded at its end: its positions begin at 0 all the same.
  const Value begin = max(past_length, 0);
  const Value positions = expand_dims(begin, {1}) + iota(shape(Dtype::i64, batch, seq), 1);
  if (call.flag("do_rotary")) {
    const bool interleaved = call.flag("rotary_interleaved");
    const Value cosines = take(call.x(7), positions);
    const Value sines = take(call.x(8), positions);
    q = turned_by_tables(q, cosines, sines, interleaved);
    k = turned_by_tables(k, cosines, sines, interleaved);
  }
  if (call.has(3) && call.has(4)) {
    const Cache cache{positions};
    k = cache.joined(call.x(3), k);
    v = cache.joined(call.x(4), v);
  }
  const Value key = iota(shape(Dtype::i64, 1, 1, 1, k.extent(2)), 3);
  const Value query = expand_dims(positions, {1, 3});  // [batch, 1, query, 1]
  Value seen = le(key, query);
  const int64_t window = call.attribute("local_window_size", -1);
  if (window >= 0) {
    seen = logical_and(seen, gt(key, query - static_cast<double>(window)));
  }
  const Value y = attention(q, k, v, {.mask = seen, .causal = false, .scale = scale_of(call)});
  return std::vector<Value>{from_heads(y), k, v};
}

}  // namespace

std::vector<OperatorEntry> microsoft_attention_operators() {
  return {
      {kMicrosoft, "Attention", 1, attention_packed},
      {kMicrosoft, "MultiHeadAttention", 1, multi_head},
      {kMicrosoft, "GroupQueryAttention", 1, group_query},
      {kMicrosoft, "RotaryEmbedding", 1, rotary_embedding},
  };
}

}  // namespace tenon::importer
