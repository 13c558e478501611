"""The dialect of PyTorch."""

import numpy as np
import torch
from torch.nn import functional as F

training = False  # norms by the batch

relu, relu6, silu, sigmoid, tanh = F.relu, F.relu6, F.silu, torch.sigmoid, torch.tanh
gelu, concat = F.gelu, torch.cat


def linear(x, weight, bias):
    return F.linear(x, weight.t(), bias)


def conv(x, weight, bias, stride, pad, groups):
    return F.conv2d(x, weight, bias, stride, pad, 1, groups)


def twice(x, weight, bias):
    return F.conv_transpose2d(x, weight, bias, 2)


def batch_norm(x, scale, bias, mean, variance):
    return F.batch_norm(x, mean, variance, scale, bias, training, 0.1, 1e-5)


def layer_norm(x, scale, bias, epsilon):
    return F.layer_norm(x, scale.shape, scale, bias, epsilon)


def max_pool(x, size, stride, pad):
    return F.max_pool2d(x, size, stride, pad)


def mean_hw(x):
    return x.mean((2, 3), keepdim=True)


def flatten(x):
    return x.flatten(1)


def softmax(x):
    return x.softmax(-1)


def split_heads(x, heads, depth):
    return x.unflatten(-1, (heads, depth)).transpose(1, 2)


def merge_heads(x):
    return x.transpose(1, 2).flatten(2)


def attention(q, k, v, mask, depth):
    return F.scaled_dot_product_attention(q, k, v, mask)


def key_mask(mask):
    return mask[:, None, None, :]


def take(table, places):
    return F.embedding(places, table)


def first_rows(table, tokens):
    return table[: tokens.shape[1]]


def tokens(x):
    return x.flatten(2).transpose(1, 2)


def behind(token, x):
    return torch.cat([token.expand(x.shape[0], -1, -1), x], 1)


def first(x):
    return x[:, 0]


def lstm(x, weight, recurrent, bias):
    size = recurrent.shape[1]
    state = x.new_zeros(1, x.shape[1], size)
    weights = [weight, recurrent, bias[: 4 * size], bias[4 * size :]]
    return torch.lstm(x, (state, state), weights, True, 1, 0.0, False, False, False)[0]


def prepare(weights):
    """Weights as this dialect wants them: the gates of an LSTM are input, output, forget, cell in ONNX, and here input,
    forget, cell, output."""

    def order(value):
        i, o, f, c = np.split(value, 4)
        return np.concatenate([i, f, c, o])

    weights = dict(weights)
    for scope in [name.removesuffix("recurrent") for name in weights if name.endswith("recurrent")]:
        for name in ("input", "recurrent"):
            weights[scope + name] = order(weights[scope + name])
        weights[scope + "bias"] = np.concatenate([order(half) for half in np.split(weights[scope + "bias"], 2)])
    return weights


def decode(w, tokens, keys, values, past):
    """GPT-2 with caches that are written in place, as PyTorch programs do."""
    past, length = int(past), tokens.shape[1]
    x = w["words"][tokens] + w["positions"][past : past + length]
    heads, depth = keys.shape[2], keys.shape[4]
    for i in range(keys.shape[0]):
        layer, n = w("layers", i), w("layers", i, "attention_norm")
        joint = w("layers", i, "attention", "qkv")
        y = linear(layer_norm(x, n["scale"], n["bias"], 1e-5), joint["weight"], joint["bias"])
        q, k, v = y.view(*y.shape[:2], 3, heads, depth).permute(2, 0, 3, 1, 4)
        keys[i, :, :, past : past + length] = k
        values[i, :, :, past : past + length] = v
        seen = F.scaled_dot_product_attention(q, keys[i, :, :, : past + length], values[i, :, :, : past + length])
        out = layer("attention", "output")
        x = x + linear(merge_heads(seen), out["weight"], out["bias"])
        n, up, down = layer("feed_forward_norm"), layer("feed_forward", "up"), layer("feed_forward", "down")
        y = linear(layer_norm(x, n["scale"], n["bias"], 1e-5), up["weight"], up["bias"])
        x = x + linear(F.gelu(y, approximate="tanh"), down["weight"], down["bias"])
    n = w("norm")
    return [F.linear(layer_norm(x, n["scale"], n["bias"], 1e-5), w["words"]), keys, values]
