"""Recurrent layers over whole sequences, and cells for one step."""

from __future__ import annotations

from tenon import ops

from .dtypes import Unsupported
from .table import row
from .values import zeros_like

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


# --- Cells: gates of one step, from what the input and the state were multiplied to. A workspace holds what the
# backward rows need, side by side.


def _parts(x, count: int) -> list:
    return ops.split_evenly(x, x.ndim - 1, count)


def _side_by_side(parts):
    return ops.concat(parts, parts[0].ndim - 1)


def _biased(gates, *biases):
    for bias in biases:
        gates = gates if bias is None else ops.add(gates, bias)
    return gates


@row("_thnn_fused_lstm_cell")
def lstm_cell(input_gates, hidden_gates, cx, input_bias=None, hidden_bias=None):
    gates = _parts(_biased(ops.add(input_gates, hidden_gates), input_bias, hidden_bias), 4)
    i, f, o = (ops.sigmoid(gates[k]) for k in (0, 1, 3))
    g = ops.tanh(gates[2])
    cy = ops.add(ops.mul(f, cx), ops.mul(i, g))
    return ops.mul(o, ops.tanh(cy)), cy, _side_by_side([i, f, g, o])


def _through_sigmoid(grad, y):
    return ops.mul(grad, ops.mul(y, ops.sub(1.0, y)))


def _through_tanh(grad, y):
    return ops.mul(grad, ops.sub(1.0, ops.mul(y, y)))


def _over_batch(grad):
    return ops.reduce_sum(grad, list(range(grad.ndim - 1)))


@row("_thnn_fused_lstm_cell_backward_impl")
def lstm_cell_backward(grad_hy, grad_cy, cx, cy, workspace, has_bias):
    i, f, g, o = _parts(workspace, 4)
    grad_hy = zeros_like(cy) if grad_hy is None else grad_hy
    kept = ops.tanh(cy)
    grad = _through_tanh(ops.mul(grad_hy, o), kept)
    grad = grad if grad_cy is None else ops.add(grad, grad_cy)
    gates = _side_by_side(
        [
            _through_sigmoid(ops.mul(grad, g), i),
            _through_sigmoid(ops.mul(grad, cx), f),
            _through_tanh(ops.mul(grad, i), g),
            _through_sigmoid(ops.mul(grad_hy, kept), o),
        ]
    )
    return gates, ops.mul(grad, f), _over_batch(gates) if has_bias else None


@row("_thnn_fused_gru_cell")
def gru_cell(input_gates, hidden_gates, hx, input_bias=None, hidden_bias=None):
    ours, theirs = _parts(_biased(input_gates, input_bias), 3), _parts(_biased(hidden_gates, hidden_bias), 3)
    r, z = (ops.sigmoid(ops.add(ours[k], theirs[k])) for k in (0, 1))
    n = ops.tanh(ops.add(ours[2], ops.mul(r, theirs[2])))
    return ops.add(n, ops.mul(z, ops.sub(hx, n))), _side_by_side([r, z, n, hx, theirs[2]])


@row("_thnn_fused_gru_cell_backward")
def gru_cell_backward(grad_hy, workspace, has_bias):
    r, z, n, hx, hidden = _parts(workspace, 5)
    new = _through_tanh(ops.mul(grad_hy, ops.sub(1.0, z)), n)
    reset = _through_sigmoid(ops.mul(new, hidden), r)
    update = _through_sigmoid(ops.mul(grad_hy, ops.sub(hx, n)), z)
    to_input, to_hidden = (_side_by_side([reset, update, last]) for last in (new, ops.mul(new, r)))
    biases = (_over_batch(to_input), _over_batch(to_hidden)) if has_bias else (None, None)
    return to_input, to_hidden, ops.mul(grad_hy, z), *biases
