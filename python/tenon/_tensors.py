"""Making lazy tensors, and switches."""

from tenon import _tenon
from tenon._tenon import Dtype, Shape, Tensor, ops


def _sizes(sizes):
    return list(sizes[0]) if len(sizes) == 1 and isinstance(sizes[0], (list, tuple)) else list(sizes)


def _placed(sizes):
    """Sizes in numbers are constants until this line of the user's is reached with others."""
    return [_tenon.size_from(s, i) if isinstance(s, int) else s for i, s in enumerate(sizes)]


def tensor(data, axes=None, *, dtype=None, requires_grad=False):
    """A tensor of its own with the elements of an array, or of nested lists.

    Axes may be named; programs then hold for every size of a named one. Without names, sizes are constants until this
    line of the program has been reached with another size.

    >>> import numpy as np
    >>> x = tensor(np.ones((3, 4), np.float32), ["batch", 4])
    >>> x.type
    f32[batch, 4]
    >>> x.sum(axis=1).tolist()
    [4.0, 4.0, 4.0]
    """
    if isinstance(data, Tensor):
        made = data.clone()
    else:
        if isinstance(data, (int, float, bool, list, tuple)):
            import numpy

            data = numpy.asarray(data)
            if data.dtype == numpy.float64:
                data = data.astype(numpy.float32)
        made = _tenon.make_tensor(data, axes, True)
    if dtype is not None and str(made.dtype) != str(dtype):
        made = made.to(dtype)
    return made.requires_grad_() if requires_grad else made


def from_numpy(array, axes=None):
    """A tensor that shares an array's memory: writes into one are seen by the other once they are computed."""
    return _tenon.make_tensor(array, axes, False)


def full(sizes, value, dtype=Dtype.f32):
    """Every element `value`."""
    return ops.full(Shape(dtype, _placed(_sizes((sizes,)))), value)


def zeros(*sizes, dtype=Dtype.f32):
    """Zeros of these sizes."""
    return full(_sizes(sizes), 0, dtype)


def ones(*sizes, dtype=Dtype.f32):
    """Ones of these sizes."""
    return full(_sizes(sizes), 1, dtype)


def zeros_like(x, dtype=None):
    """Zeros of x's sizes."""
    return ops.full(Shape(dtype or x.dtype, x.sizes), 0)


def ones_like(x, dtype=None):
    """Ones of x's sizes."""
    return ops.full(Shape(dtype or x.dtype, x.sizes), 1)


def arange(start, stop=None, step=1, dtype=None):
    """start, start + step, ... up to stop, which is left out.

    >>> arange(2, 8, 2).tolist()
    [2, 4, 6]
    >>> arange(0, 1, 0.25).tolist()
    [0.0, 0.25, 0.5, 0.75]
    """
    if stop is None:
        start, stop = 0, start
    if dtype is None:
        dtype = Dtype.i64 if all(isinstance(v, int) for v in (start, stop, step)) else Dtype.f32
    if step == 0:
        raise ValueError("arange: step must not be 0")
    import math

    count = max(0, math.ceil((stop - start) / step))
    sizes = [_tenon.size_from(count, 0)]
    if all(isinstance(v, int) for v in (start, step)):
        return ops.iota(Shape(dtype, sizes), 0, start, step)
    return (ops.iota(Shape(Dtype.f64, sizes)) * float(step) + float(start)).to(dtype)


class _GradMode:
    def __init__(self, enabled):
        self._enabled, self._guards = enabled, []

    def __enter__(self):
        self._guards.append(_tenon.push_grad_mode(self._enabled))
        return self

    def __exit__(self, *_):
        self._guards.pop()

    def __call__(self, function):
        import functools

        @functools.wraps(function)
        def inside(*args, **kwargs):
            with type(self)():
                return function(*args, **kwargs)

        return inside


class no_grad(_GradMode):
    """While it lasts, what is computed passes no gradients on. A context, or a decorator."""

    def __init__(self):
        super().__init__(False)


class enable_grad(_GradMode):
    """While it lasts, gradients are passed on, inside no_grad too."""

    def __init__(self):
        super().__init__(True)


def threads():
    """How many threads programs use; 0: as many as the machine has."""
    return _tenon.default_threads()


def set_threads(count):
    """Let programs use so many threads; 0: as many as the machine has. Results stay the same, bit for bit."""
    _tenon.set_default_threads(count)
