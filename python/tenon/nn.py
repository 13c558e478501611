"""Layers with parameters, by PyTorch's names. Subclass Module to write your own:

    >>> import tenon
    >>> from tenon import nn
    >>> class Net(nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.hidden = nn.Linear(4, 8)
    ...         self.out = nn.Linear(8, 2)
    ...     def forward(self, x):
    ...         return self.out(self.hidden(x).relu())
    >>> net = Net()
    >>> list(net.named_parameters())
    ['hidden.weight', 'hidden.bias', 'out.weight', 'out.bias']
    >>> net(tenon.ones(3, 4)).shape
    (3, 2)
"""

from tenon import _tenon
from tenon._tenon import Tensor, ops
from tenon._tenon.nn import (
    GRU,
    LSTM,
    AdaptiveAvgPool,
    AvgPool1d,
    AvgPool2d,
    AvgPool3d,
    BatchNorm,
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose,
    Dropout,
    Embedding,
    Flatten,
    GroupNorm,
    LayerNorm,
    Linear,
    MaxPool1d,
    MaxPool2d,
    MaxPool3d,
    ModuleBase,
    MultiheadAttention,
    RMSNorm,
    init,
)

BatchNorm1d = BatchNorm2d = BatchNorm3d = BatchNorm


class Parameter:
    """`self.scale = nn.Parameter(tenon.ones(4))` in a module: a tensor that is trained."""

    def __init__(self, tensor):
        self.tensor = tensor


class Module(ModuleBase):
    """Parameters and modules that are assigned to attributes belong to it; `forward` is what a call does."""

    def __setattr__(self, name, value):
        if isinstance(value, Parameter):
            value = self.register_parameter(name, value.tensor)
        elif isinstance(value, ModuleBase):
            self.add_module(name, value)
        super().__setattr__(name, value)

    def register_buffer(self, name, tensor):
        """State that is saved and not trained."""
        super().__setattr__(name, super().register_buffer(name, tensor))

    def forward(self, *args, **kwargs):
        raise NotImplementedError(f"{type(self).__name__} has no forward()")

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)


class Sequential(Module):
    """Layers one after the other; the names of their parameters begin with 0, 1, ..."""

    def __init__(self, *layers):
        super().__init__()
        self._layers = list(layers)
        for i, layer in enumerate(layers):
            if isinstance(layer, ModuleBase):
                self.add_module(str(i), layer)

    def forward(self, x):
        for layer in self._layers:
            x = layer(x)
        return x

    def __getitem__(self, i):
        return self._layers[i]

    def __len__(self):
        return len(self._layers)


class ModuleList(Module):
    """A list of modules."""

    def __init__(self, modules=()):
        super().__init__()
        self._modules = []
        for module in modules:
            self.append(module)

    def append(self, module):
        self.add_module(str(len(self._modules)), module)
        self._modules.append(module)
        return self

    def __iter__(self):
        return iter(self._modules)

    def __getitem__(self, i):
        return self._modules[i]

    def __len__(self):
        return len(self._modules)


def _activation(name, row):
    def forward(self, x):
        return row(x)

    return type(name, (Module,), {"forward": forward, "__doc__": row.__doc__, "__module__": __name__})


ReLU = _activation("ReLU", ops.relu)
GELU = _activation("GELU", ops.gelu)
SiLU = _activation("SiLU", ops.silu)
Tanh = _activation("Tanh", ops.tanh)
Sigmoid = _activation("Sigmoid", ops.sigmoid)
Softplus = _activation("Softplus", ops.softplus)
Mish = _activation("Mish", ops.mish)
