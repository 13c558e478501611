"""How far two results are apart."""

import math

import numpy as np


def difference(wanted, got, ignored=0.0):
    """The largest but for `ignored`, relative to the largest element wanted; infinite where shapes or non-finite elements
    differ."""
    if wanted.shape != got.shape:
        return math.inf
    a, b = wanted.astype(np.float64), got.astype(np.float64)
    finite = np.isfinite(a)
    if not np.array_equal(finite, np.isfinite(b)) or not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return math.inf
    if not finite.any():
        return 0.0
    largest = max(0.0, float(np.max(np.abs(a[finite] - b[finite]))) - ignored)
    return largest / (float(np.max(np.abs(a[finite]))) or 1.0)
