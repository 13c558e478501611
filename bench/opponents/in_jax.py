"""The dialect of JAX."""

import jax
from jax import lax
from jax import numpy as jnp

relu, relu6, silu, sigmoid, tanh = jax.nn.relu, jax.nn.relu6, jax.nn.silu, jax.nn.sigmoid, jnp.tanh
concat = jnp.concatenate


def linear(x, weight, bias):
    return x @ weight + bias


def conv(x, weight, bias, stride, pad, groups):
    y = lax.conv_general_dilated(x, weight, (stride, stride), ((pad, pad), (pad, pad)),
                                 dimension_numbers=("NCHW", "OIHW", "NCHW"), feature_group_count=groups)
    return y if bias is None else y + bias[:, None, None]


def twice(x, weight, bias):
    y = jnp.einsum("bchw,coij->bohiwj", x, weight)
    n, channels, height, _, width, _ = y.shape
    return y.reshape(n, channels, 2 * height, 2 * width) + bias[:, None, None]


def batch_norm(x, scale, bias, mean, variance):
    factor = scale * lax.rsqrt(variance + 1e-5)
    return x * factor[:, None, None] + (bias - mean * factor)[:, None, None]


def layer_norm(x, scale, bias, epsilon):
    mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(variance + epsilon) * scale + bias


def gelu(x):
    return jax.nn.gelu(x, approximate=False)


def max_pool(x, size, stride, pad):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, size, size), (1, 1, stride, stride),
                             ((0, 0), (0, 0), (pad, pad), (pad, pad)))


def mean_hw(x):
    return x.mean((2, 3), keepdims=True)


def flatten(x):
    return x.reshape(x.shape[0], -1)


def softmax(x):
    return jax.nn.softmax(x, -1)


def split_heads(x, heads, depth):
    return x.reshape(*x.shape[:2], heads, depth).transpose(0, 2, 1, 3)


def merge_heads(x):
    x = x.transpose(0, 2, 1, 3)
    return x.reshape(*x.shape[:2], -1)


def attention(q, k, v, mask, depth):
    """Of [batch, heads, length, depth]; JAX's own takes heads behind the length."""
    turned = (each.transpose(0, 2, 1, 3) for each in (q, k, v))
    return jax.nn.dot_product_attention(*turned, mask=mask).transpose(0, 2, 1, 3)


def key_mask(mask):
    return mask[:, None, None, :]


def take(table, places):
    return table[places]


def first_rows(table, tokens):
    return table[: tokens.shape[1]]


def tokens(x):
    return x.reshape(*x.shape[:2], -1).transpose(0, 2, 1)


def behind(token, x):
    return jnp.concatenate([jnp.broadcast_to(token, (x.shape[0], 1, x.shape[2])), x], 1)


def first(x):
    return x[:, 0]


def lstm(x, weight, recurrent, bias):
    size = recurrent.shape[1]
    given = x @ weight.T + bias[: 4 * size] + bias[4 * size :]
    zero = jnp.zeros((x.shape[1], size), x.dtype)

    def step(state, now):
        h, c = state
        i, o, f, g = jnp.split(now + h @ recurrent.T, 4, -1)
        c = sigmoid(f) * c + sigmoid(i) * jnp.tanh(g)
        h = sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    return lax.scan(step, (zero, zero), given)[1]
