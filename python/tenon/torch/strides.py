"""The strides of results, by PyTorch's own rules: what its operators give for tensors without elements.

An operator over contiguous operands gives contiguous results, but for those that are told a memory format or strides.
So this is asked where an operand is not contiguous; answers are kept.
"""

from __future__ import annotations

import torch

from .memory import order_of, row_major

_answers: dict = {}
_MOST_ANSWERS = 16384

# Results of these are contiguous whatever the operands are: PyTorch's kernels for the CPU allocate them so.
_ROW_MAJOR = {
    "mm", "bmm", "addmm", "baddbmm", "addbmm", "addmv", "mv", "addr", "dot", "vdot", "sum", "mean", "amax", "amin",
    "prod", "var", "std", "var_mean", "std_mean", "any", "all", "argmax", "argmin", "logsumexp", "embedding",
    "embedding_dense_backward", "_softmax", "_log_softmax", "_softmax_backward_data", "_log_softmax_backward_data",
    "native_layer_norm", "native_layer_norm_backward", "log_sigmoid_forward", "mse_loss_backward",
    "smooth_l1_loss_backward", "huber_loss_backward", "tril", "triu", "nll_loss_forward", "nll_loss_backward",
    "masked_fill",
}  # fmt: skip
_ROW_MAJOR_OVERLOADS = {"aten.pow.Scalar", "aten.normal.Tensor_Tensor"}
# These give other strides for contiguous operands, too.
_NEVER_ROW_MAJOR = {"new_empty_strided", "empty_permuted", "rot90"}

_POINTWISE_TOO = {"native_dropout_backward"}
# Results of these lie as their first operand does, strides of axes of size 1 included: PyTorch's kernels for the CPU
# call empty_like(). (Its functions without elements give other strides to axes of size 1.)
_LIKE_THE_FIRST = {
    "empty_like", "zeros_like", "ones_like", "full_like", "rand_like", "randn_like", "randint_like", "flip", "sort",
    "hardtanh", "nan_to_num",
}  # fmt: skip
# Results are channels last where the input or the weights are, as those of PyTorch's kernels for the CPU. Its functions
# without elements give row-major ones always.
_CONVOLUTIONS = {"convolution", "_convolution", "convolution_overrideable"}
_LIKE_BATCH_NORM = {"native_batch_norm", "_native_batch_norm_legit", "_native_batch_norm_legit_functional"}

_NUMBERS = {f"{before}{kind}{after}" for kind in ("number", "float", "Scalar")
            for before, after in (("", ""), ("Optional[", "]"))}  # fmt: skip
_CONTIGUOUS = (None, torch.contiguous_format, torch.preserve_format)


def is_row_major(overload) -> bool:
    return overload._overloadpacket.__name__ in _ROW_MAJOR or str(overload) in _ROW_MAJOR_OVERLOADS


def is_never_row_major(overload) -> bool:
    return overload._overloadpacket.__name__ in _NEVER_ROW_MAJOR


def is_told(kwargs) -> bool:
    """Whether arguments name a memory format that is not row-major."""
    return bool(kwargs) and kwargs.get("memory_format") not in _CONTIGUOUS


def numbers_of(schema) -> frozenset[str]:
    """Arguments whose value changes no strides: factors, bounds, probabilities."""
    return frozenset(a.name for a in schema.arguments if str(a.type) in _NUMBERS)


def of_results(overload, args, kwargs, numbers):
    """For each result its strides, None where it is contiguous, in the form of the results; None where all are."""
    names = overload._schema.arguments
    key = (
        overload,
        *[None if names[i].name in numbers else _key(a) for i, a in enumerate(args)],
        *[(k, None if k in numbers else _key(v)) for k, v in kwargs.items()],
    )
    try:
        return _answers[key]
    except KeyError:
        pass
    if len(_answers) >= _MOST_ANSWERS:
        _answers.clear()
    answer = _answers[key] = _ask(overload, args, kwargs)
    return answer


def _key(value):
    if isinstance(value, torch.Tensor):
        return value.dtype, value.shape, value.stride()
    if isinstance(value, (list, tuple)):
        return tuple([_key(v) for v in value])
    return value


def refuse(overload, args, kwargs, error: Exception) -> None:
    """Raise what PyTorch says of these arguments, in its words and for its operands, where it refuses them too."""
    try:
        overload(*[_without_elements(a) for a in args], **_named_without_elements(overload, kwargs))
    except NotImplementedError:
        pass
    except (RuntimeError, IndexError, ValueError, TypeError) as refusal:
        raise refusal from error


def _named_without_elements(overload, kwargs) -> dict:
    named = {k: _without_elements(v) for k, v in kwargs.items() if k != "generator"}
    if any(a.name == "device" for a in overload._schema.arguments):
        named["device"] = torch.device("meta")
    return named


def _ask(overload, args, kwargs):
    takes_format = any(a.name == "memory_format" for a in overload._schema.arguments)
    named = _named_without_elements(overload, kwargs)
    without = [_without_elements(a) for a in args]
    name = overload._overloadpacket.__name__
    try:
        if name in _LIKE_THE_FIRST and not is_told(kwargs):
            found = _like(without[0])
            return [found, found] if name == "sort" and found is not None else found
        if (torch.Tag.pointwise in overload.tags and not takes_format) or name in _POINTWISE_TOO:
            return pointwise(_operands(overload, without, named))
        if name == "roll" and len(without) == 3 and len(without[2]) == 1 and without[0].numel():
            x, shift, axis = without[0], without[1][0], without[2][0]
            at = (x.shape[axis] - shift) % x.shape[axis]
            return _joined([x.narrow(axis, at, x.shape[axis] - at), x.narrow(axis, 0, at)], x.shape)
        if name in _LIKE_BATCH_NORM:
            return _first(_joined(without[:1], without[0].shape))
        result = overload(*without, **named)
        if name == "cat":
            return _joined(without[0], result.shape)
        if name in _CONVOLUTIONS:
            volumes_in_f64 = result.dim() == 5 and result.dtype == torch.float64  # another kernel, by the input alone
            return _channels_last_as_any(without[: 1 if volumes_in_f64 else 2], result.shape)
    except (NotImplementedError, RuntimeError, TypeError, ValueError, IndexError):
        return None  # data decide sizes; or the arguments are wrong, which the row says
    return _strides(result)


def _operands(overload, args, kwargs) -> list:
    """Tensors, and numbers that PyTorch makes tensors of."""
    kinds = [str(a.type) for a in overload._schema.arguments]
    found = []
    for kind, given in zip(kinds, args):
        is_number = isinstance(given, (int, float)) and not isinstance(given, bool)
        if torch.is_tensor(given):
            found.append(given)
        elif is_number and (kind == "Tensor" or overload._overloadname == "Scalar"):
            found.append(torch.empty((), device="meta"))
    return found + [a for a in kwargs.values() if torch.is_tensor(a)]


def pointwise(tensors):
    """The strides of what a pointwise operator gives, None where they are row-major: the rule of PyTorch's
    TensorIterator. (Its functions without elements are written in Python, and differ where axes have size 1.)"""
    sizes = torch.broadcast_shapes(*[x.shape for x in tensors])
    if 0 in sizes:
        return None
    if all(x.shape == sizes for x in tensors):
        first = tensors[0]
        if all(x.is_contiguous() for x in tensors):
            return None
        if len(sizes) == 4 and all(x.is_contiguous(memory_format=torch.channels_last) for x in tensors):
            return _strides(torch.empty(sizes, device="meta", memory_format=torch.channels_last))
        if all(x.stride() == first.stride() for x in tensors) and order_of(sizes, first.stride()) is not None:
            return first.stride()
    order = _order_of_axes(sizes, [_broadcast_strides(x, sizes) for x in tensors])
    strides, step = [0] * len(sizes), 1
    for axis in order:
        strides[axis] = step
        step *= sizes[axis]
    return None if order == list(reversed(range(len(sizes)))) else tuple(strides)


def _like(x):
    """The strides of `empty_like(x)`, None where they are row-major."""
    if order_of(x.shape, x.stride()) is None:
        return pointwise([x])
    return None if x.stride() == row_major(x.shape) else x.stride()


def _broadcast_strides(x, sizes) -> list[int]:
    lead = len(sizes) - x.dim()
    own = [0 if n == 1 and sizes[lead + i] != 1 else s for i, (n, s) in enumerate(zip(x.shape, x.stride()))]
    return [0] * lead + own


def _order_of_axes(sizes, operands) -> list[int]:
    """Axes from the innermost in memory to the outermost: by the strides of the first operand that tells two apart."""

    def compare(a: int, b: int) -> int:
        for strides in operands:
            if strides[a] == 0 or strides[b] == 0:
                continue
            if strides[a] != strides[b]:
                return -1 if strides[a] < strides[b] else 1
            if sizes[a] > sizes[b]:
                return 1
        return 0

    order = list(reversed(range(len(sizes))))
    for i in range(1, len(order)):
        at = i
        for k in range(i - 1, -1, -1):
            outcome = compare(order[k], order[at])
            if outcome > 0:
                order[k], order[at] = order[at], order[k]
                at = k
            elif outcome < 0:
                break
    return order


def _first(strides):
    return None if strides is None else [strides, None, None, None, None]


def _joined(tensors, sizes):
    """The strides of a result that is laid out as all of these are: channels last, or row-major."""
    formats = {_format(x.shape, x.stride()) for x in tensors if x.shape != (0,)}
    if len(formats) != 1 or torch.contiguous_format in formats:
        return None
    return _strides(torch.empty(sizes, device="meta", memory_format=formats.pop()))


def _channels_last_as_any(tensors, sizes):
    """The strides of a result that is channels last where one of these is, and row-major otherwise."""
    formats = {_format(x.shape, x.stride()) for x in tensors} - {torch.contiguous_format}
    return _strides(torch.empty(sizes, device="meta", memory_format=formats.pop())) if formats else None


def _format(sizes, strides):
    """The memory format that strides suggest to PyTorch's kernels; where several would fit, row-major."""
    formats = {4: ((1, 3, 2, 0), torch.channels_last), 5: ((1, 4, 3, 2, 0), torch.channels_last_3d)}
    order, found = formats.get(len(sizes), ((), torch.contiguous_format))
    least = 0
    for axis in order:
        if sizes[axis] == 0 or strides[1] == 0 or strides[axis] < least or (axis == 0 and least == strides[1]):
            return torch.contiguous_format
        least = strides[axis] * max(sizes[axis], 1)
    return found


def _without_elements(value, dtype=None):
    if isinstance(value, torch.Tensor):
        return torch.empty_strided(value.shape, value.stride(), dtype=dtype or value.dtype, device="meta")
    if isinstance(value, (list, tuple)):
        return [_without_elements(v) for v in value]
    return value


def _strides(result):
    if isinstance(result, torch.Tensor):
        return None if result.stride() == row_major(result.shape) else result.stride()
    if isinstance(result, (list, tuple)):
        each = [_strides(r) for r in result]
        return each if any(e is not None for e in each) else None
    return None
