"""Recurrent layers over whole sequences."""

from __future__ import annotations

from tenon import ops

from .dtypes import Unsupported
from .table import row

# Where Tenon's gates are among PyTorch's: i, o, f, c from i, f, c, o; z, r, h from r, z, n.
_LSTM, _GRU, _RNN = (0, 3, 1, 2), (1, 0, 2), (0,)


def _gates(weight, order):
    """Rows of the gates in Tenon's order."""
    if order == _RNN:
        return weight
    parts = ops.split_evenly(weight, 0, len(order))
    return ops.concat([parts[i] for i in order], 0)


def _layer(run, x, weights, states, order, reverse):
    w, r, *biases = weights
    if len(biases) not in (0, 2):
        raise Unsupported("recurrent layers with a projection")
    options = {"reverse": reverse}
    if biases:
        options["bias"] = ops.concat([_gates(b, order) for b in biases], 0)
    options.update(states)
    return run(x, _gates(w, order), _gates(r, order), **options)


def _sequence(run, order, x, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first):
    if train and dropout:
        raise Unsupported("dropout between recurrent layers")
    batched = x.ndim == 3
    if not batched:
        x, hx = ops.expand_dims(x, [1]), [ops.expand_dims(h, [1]) for h in hx]
    elif batch_first:
        x = ops.transpose(x, [1, 0, 2])
    directions = 2 if bidirectional else 1
    each = 4 if has_biases else 2
    if len(params) != each * num_layers * directions:
        raise Unsupported("recurrent layers with a projection")
    last: list[list] = [[] for _ in hx]
    for layer in range(num_layers):
        results = []
        for direction in range(directions):
            k = layer * directions + direction
            states = {name: ops.squeeze(ops.slice_axis(h, 0, k, k + 1), [0]) for name, h in zip(("h", "c"), hx)}
            found = _layer(run, x, params[k * each : (k + 1) * each], states, order, direction == 1)
            results.append(found[0])
            for i, state in enumerate(found[1 : 1 + len(hx)]):
                last[i].append(state)
        x = results[0] if directions == 1 else ops.concat(results, 2)
    states = [ops.stack(s, 0) for s in last]
    if not batched:
        return (ops.squeeze(x, [1]), *[ops.squeeze(s, [1]) for s in states])
    return (ops.transpose(x, [1, 0, 2]) if batch_first else x, *states)


@row("lstm.input", "tenon.lstm")
def lstm(x, hx, params, *options):
    return _sequence(ops.lstm, _LSTM, x, hx, params, *options)


def _one_state(hx):
    return list(hx) if isinstance(hx, (list, tuple)) else [hx]


@row("gru.input", "tenon.gru")
def gru(x, hx, params, *options):
    def run(*args, **kwargs):
        return ops.gru(*args, linear_before_reset=True, **kwargs)

    return _sequence(run, _GRU, x, _one_state(hx), params, *options)


def _rnn(activation: str):
    def run(*args, **kwargs):
        return ops.rnn(*args, activation=activation, **kwargs)

    return run


@row("rnn_tanh.input", "tenon.rnn_tanh")
def rnn_tanh(x, hx, params, *options):
    return _sequence(_rnn("tanh"), _RNN, x, _one_state(hx), params, *options)


@row("rnn_relu.input", "tenon.rnn_relu")
def rnn_relu(x, hx, params, *options):
    return _sequence(_rnn("relu"), _RNN, x, _one_state(hx), params, *options)
