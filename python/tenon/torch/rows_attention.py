"""Attention in the forms that PyTorch's CPU path takes, and its backward."""

from __future__ import annotations

import math

import tenon
from tenon import ops

from .dtypes import Unsupported, dtype_of, is_bool
from .rows_product import linear
from .table import row
from .values import cast, dims, expand_to, same_sizes, truth, wide


def _scale(q, scale):
    """A number, or a value where the depth of a head is symbolic."""
    depth = dims(q)[-1]
    if scale is not None or isinstance(depth, int):
        return float(scale if scale is not None else 1 / math.sqrt(depth))
    return ops.cast(ops.rsqrt(ops.extent_value(depth, tenon.f64)), q.dtype)


def _repeated(k, q):
    """Keys or values for each head of q: groups of heads share one."""
    heads, own = q.sizes[-3], k.sizes[-3]
    if q.ndim < 3 or dims(q)[-3] == dims(k)[-3]:
        return k
    at = k.ndim - 2
    wide_sizes = [*k.sizes[: at - 1], own, heads // own, *k.sizes[at:]]
    return ops.reshape(ops.broadcast_to(ops.expand_dims(k, [at]), wide_sizes), [*k.sizes[: at - 1], heads, *k.sizes[at:]])


def _summed(gradient, k):
    """The opposite: what the heads of a group want of the one that they share."""
    if gradient.ndim < 3 or dims(gradient)[-3] == dims(k)[-3]:
        return gradient
    at, own = k.ndim - 2, k.sizes[-3]
    apart = [*k.sizes[: at - 1], own, gradient.sizes[-3] // own, *k.sizes[at:]]
    return ops.reduce_sum(ops.reshape(gradient, apart), [at])


def _causal(q, k):
    """PyTorch's: query i sees keys up to i, whatever the lengths are."""
    return ops.triangle_mask(q.sizes[-2], k.sizes[-2], 0)


def _same_lead(q, k, v):
    """All with the same leading axes, which broadcast; heads stay where keys have fewer, as they do with groups."""
    rank = max(x.ndim for x in (q, k, v))
    if all(x.ndim == rank and same_sizes(dims(x)[:-3], dims(q)[:-3]) for x in (q, k, v)) and rank > 2:
        return q, k, v
    whole = [ops.expand_dims(x, list(range(rank - x.ndim))) if x.ndim < rank else x for x in (q, k, v)]
    lead = [next((x.sizes[i] for x in whole if dims(x)[i] != 1), 1) for i in range(rank - 2)]
    return [expand_to(x, [*lead, *x.sizes[-2:]]) for x in whole]


def _attention(q, k, v, mask, causal, scale):
    q, k, v = _same_lead(q, k, v)
    options = {} if scale is None else {"scale": float(scale)}
    if causal and q.sizes[-2] == k.sizes[-2]:
        options["causal"] = True
    elif causal:
        mask = _causal(q, k)
    if mask is not None:
        options["mask"] = mask if is_bool(mask) else cast(mask, dtype_of(q))
    return ops.attention(q, k, v, **options)


def _scores(q, k, mask, causal, scale):
    """scale * q k^T with what is not seen at -inf."""
    k = _repeated(k, q)
    turned = ops.transpose(k, [*range(k.ndim - 2), k.ndim - 1, k.ndim - 2])
    scores = ops.mul(ops.matmul(q, turned), _scale(q, scale))
    if causal:
        mask = _causal(q, k)
    if mask is None:
        return scores
    if is_bool(mask):
        return ops.select(mask, scores, -math.inf)
    return ops.add(scores, cast(mask, dtype_of(scores)))


@row("scaled_dot_product_attention")
def attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, *, scale=None, enable_gqa=False):
    if dropout_p:
        raise Unsupported("attention with dropout as one operator")
    if query.ndim == 2:
        q, k, v = (ops.expand_dims(x, [0]) for x in (query, key, value))
        return ops.squeeze(_attention(q, k, v, attn_mask, is_causal, scale), [0])
    return _attention(query, key, value, attn_mask, is_causal, scale)


@row("_scaled_dot_product_flash_attention_for_cpu")
def flash_attention(query, key, value, dropout_p=0.0, is_causal=False, *, attn_mask=None, scale=None):
    """The result, and the logarithm of each row's sum, which the backward reads."""
    if dropout_p:
        raise Unsupported("attention with dropout as one operator")
    y = _attention(query, key, value, attn_mask, is_causal, scale)
    scores = _scores(wide(query), wide(key), attn_mask, is_causal, scale)
    return y, ops.logsumexp(scores, [scores.ndim - 1])


@row("_scaled_dot_product_flash_attention_for_cpu_backward")
def flash_attention_backward(
    grad_out, query, key, value, out, logsumexp, dropout_p, is_causal, *, attn_mask=None, scale=None
):
    """Probabilities made again from the saved logarithms."""
    q, y, g = (wide(x) for x in (query, out, grad_out))
    k, v = (_repeated(wide(x), q) for x in (key, value))
    scores = _scores(q, k, attn_mask, is_causal, scale)
    p = ops.exp(ops.sub(scores, ops.expand_dims(wide(logsumexp), [scores.ndim - 1])))
    swap = [*range(q.ndim - 2), q.ndim - 1, q.ndim - 2]
    by_v = ops.matmul(ops.transpose(p, swap), g)
    by_p = ops.matmul(g, ops.transpose(v, swap))
    share = ops.reduce_sum(ops.mul(g, y), [y.ndim - 1], True)
    by_scores = ops.mul(ops.mul(p, ops.sub(by_p, share)), _scale(q, scale))
    by_q = ops.matmul(by_scores, k)
    by_k = ops.matmul(ops.transpose(by_scores, swap), q)
    by_k, by_v = _summed(by_k, key), _summed(by_v, value)
    return tuple(cast(x, dtype_of(like)) for x, like in ((by_q, query), (by_k, key), (by_v, value)))


@row("_scaled_dot_product_attention_math")
def attention_math(
    query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, dropout_mask=None, *, scale=None,
    enable_gqa=False,
):  # fmt: skip
    """The result and the probabilities."""
    if dropout_p or dropout_mask is not None:
        raise Unsupported("attention with dropout as one operator")
    scores = _scores(query, key, attn_mask, is_causal, scale)
    return _attention(query, key, value, attn_mask, is_causal, scale), ops.softmax(scores, -1)


# --- Whole layers: the fast path of nn.TransformerEncoderLayer and nn.MultiheadAttention in inference


def _heads(x, count: int):
    """[batch, length, width] as [batch, heads, length, depth]."""
    n, length, width = x.sizes
    return ops.transpose(ops.reshape(x, [n, length, count, width // count]), [0, 2, 1, 3])


def _hidden(mask, mask_type):
    """What is not seen, as a bool that broadcasts to the scores: a mask of keys (1), of pairs (0), or of all (2)."""
    hidden = truth(mask)
    if mask_type == 1:
        hidden = ops.expand_dims(hidden, [1, 2])
    return hidden


def _self_attention(x, heads, qkv_weight, qkv_bias, out_weight, out_bias, mask, mask_type):
    n, length, width = x.sizes
    joined = linear(x, qkv_weight, qkv_bias)
    q, k, v = (_heads(part, heads) for part in ops.split_evenly(joined, 2, 3))
    seen = None if mask is None else ops.logical_not(_hidden(mask, mask_type))
    y = _attention(q, k, v, seen, False, None)
    return linear(ops.reshape(ops.transpose(y, [0, 2, 1, 3]), [n, length, width]), out_weight, out_bias)


@row("_transformer_encoder_layer_fwd")
def encoder_layer(
    src, embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, use_gelu, norm_first, eps,
    norm_weight_1, norm_bias_1, norm_weight_2, norm_bias_2, ffn_weight_1, ffn_bias_1, ffn_weight_2, ffn_bias_2,
    mask=None, mask_type=None,
):  # fmt: skip
    def attend(x):
        return _self_attention(x, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, mask, mask_type)

    def feed_forward(x):
        h = linear(x, ffn_weight_1, ffn_bias_1)
        return linear(ops.gelu(h) if use_gelu else ops.relu(h), ffn_weight_2, ffn_bias_2)

    def norm(x, weight, bias):
        return ops.layer_norm(x, weight, bias, [-1], float(eps))

    if norm_first:
        x = ops.add(src, attend(norm(src, norm_weight_1, norm_bias_1)))
        return ops.add(x, feed_forward(norm(x, norm_weight_2, norm_bias_2)))
    x = norm(ops.add(src, attend(src)), norm_weight_1, norm_bias_1)
    return norm(ops.add(x, feed_forward(x)), norm_weight_2, norm_bias_2)


@row("_native_multi_head_attention")
def multi_head_attention(
    query, key, value, embed_dim, num_head, qkv_weight, qkv_bias, proj_weight, proj_bias, mask=None,
    need_weights=True, average_attn_weights=True, mask_type=None,
):  # fmt: skip
    if need_weights:
        raise Unsupported("attention that gives its weights, as one operator")
    y = _self_attention(query, num_head, qkv_weight, qkv_bias, proj_weight, proj_bias, mask, mask_type)
    return y, None
