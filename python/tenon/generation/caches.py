"""Keys and values of all layers, in arrays that have a row for each sequence."""

from __future__ import annotations

import numpy as np

_LEAST_CAPACITY = 64


def capacity_for(decoder, places):
    """A power of 2, but no more than the context needs."""
    power = max(_LEAST_CAPACITY, 1 << (max(places, 1) - 1).bit_length())
    return min(power, -(-max(decoder.context, 1) // _LEAST_CAPACITY) * _LEAST_CAPACITY)


class Caches:
    """Arrays of all layers, a row for each sequence, with room that doubles."""

    def __init__(self, decoder):
        self._shape, self._dtypes = decoder.cache_shape, decoder.cache_dtypes
        self.rows = self.capacity = 0
        self._arrays = []

    def reserve(self, rows, capacity):
        if rows <= self.rows and capacity <= self.capacity:
            return
        self.rows, self.capacity = max(self.rows, rows), max(self.capacity, capacity)
        dims = (self.rows, *(self.capacity if size is None else size for size in self._shape))
        for i, dtype in enumerate(self._dtypes):
            array = np.zeros(dims, dtype)  # memory that is not touched takes none
            if i < len(self._arrays):
                old = self._arrays[i]
                array[tuple(slice(0, size) for size in old.shape)] = old
                self._arrays[i] = array
            else:
                self._arrays.append(array)

    def of(self, begin, end):
        return [array[begin:end] for array in self._arrays]

    def move(self, source, target, count):
        places = self._first(count)
        for array in self._arrays:
            array[(target, *places)] = array[(source, *places)]

    def copies(self, row, count):
        """Of the first places of a row."""
        return [array[(row, *self._first(count))].copy() for array in self._arrays]

    def put(self, row, copies, count):
        """The first places of what copies() gave."""
        places = self._first(count)
        for array, copy in zip(self._arrays, copies):
            array[(row, *places)] = copy[places]

    def _first(self, count):
        return tuple(slice(0, count) if size is None else slice(None) for size in self._shape)

    def bytes_of(self, rows, capacity):
        dims = [capacity if size is None else size for size in self._shape]
        return sum(rows * int(np.prod(dims)) * np.dtype(dtype).itemsize for dtype in self._dtypes)

    @property
    def bytes(self):
        return self.bytes_of(self.rows, self.capacity)
