"""Optimisers over lazy tensors, gradient clipping, and learning rates over time."""

from tenon._tenon.optim import (
    SGD,
    Adam,
    AdamW,
    Optimizer,
    clip_grad_norm_,
    clip_grad_value_,
    cosine,
)
