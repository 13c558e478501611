"""Autocast on the device: products and convolutions in bf16 or f16, what needs precision in f32."""

from __future__ import annotations

import torch

aten = torch.ops.aten

_LOWER_PRECISION = (
    "mm", "bmm", "addmm", "baddbmm", "addmv", "mv", "matmul", "linear", "convolution", "conv1d", "conv2d", "conv3d",
    "conv_transpose1d", "conv_transpose2d.input", "conv_transpose3d.input", "scaled_dot_product_attention", "einsum",
)  # fmt: skip
_F32 = (
    "softmax.int", "log_softmax.int", "layer_norm", "group_norm", "nll_loss", "cross_entropy_loss", "mse_loss", "l1_loss",
    "binary_cross_entropy_with_logits", "exp", "log", "pow.Tensor_Scalar", "sum", "prod", "cumsum", "norm.Scalar",
)  # fmt: skip


def _autocast_kernel(overload, to_lower: bool):
    keys = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastPrivateUse1)

    def cast(x, dtype):
        if isinstance(x, torch.Tensor) and x.is_floating_point() and x.dtype != torch.float64 and x.device.type == "tenon":
            return x.to(dtype)
        return [cast(v, dtype) for v in x] if isinstance(x, (list, tuple)) else x

    def kernel(*args, **kwargs):
        dtype = torch.get_autocast_dtype("tenon") if to_lower else torch.float32
        with torch._C._ExcludeDispatchKeyGuard(keys):
            return overload(*[cast(a, dtype) for a in args], **{k: cast(v, dtype) for k, v in kwargs.items()})

    return kernel


def register(library: torch.library.Library) -> None:
    for names, to_lower in ((_LOWER_PRECISION, True), (_F32, False)):
        for name in names:
            packet, _, overload = name.partition(".")
            found = getattr(getattr(aten, packet), overload or "default")
            library.impl(name, _autocast_kernel(found, to_lower), "AutocastPrivateUse1")
