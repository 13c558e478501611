"""What caches held of earlier texts: a prompt that begins like one of them need not be read again."""

from __future__ import annotations

import collections

import numpy as np

LEAST_SHARED = 16  # tokens: to copy fewer is not worth the look-up


def common(a, b):
    """How many tokens two arrays begin with alike."""
    count = min(len(a), len(b))
    different = np.flatnonzero(a[:count] != b[:count])
    return int(different[0]) if len(different) else count


class Prefixes:
    """Copies of rows of caches, at most so many bytes; those that were not used for longest go first."""

    def __init__(self, most_bytes):
        self.most_bytes, self.bytes = most_bytes, 0
        self._kept = collections.OrderedDict()  # by number: the tokens, and a copy of each cache
        self._number = 0

    def longest(self, tokens):
        """How many tokens of a kept text `tokens` begins with, and the copies; (0, None) where there is none."""
        counts = {number: common(kept, tokens) for number, (kept, _) in self._kept.items()}
        best = max(counts, key=counts.get, default=None)
        if best is None or counts[best] == 0:
            return 0, None
        self._kept.move_to_end(best)
        return counts[best], self._kept[best][1]

    def add(self, tokens, copy, byte_count):
        """`copy()` gives the copies, whose bytes are `byte_count`. What is kept already is not copied again, and what
        goes on where a kept text ends takes its place."""
        if len(tokens) < LEAST_SHARED or byte_count > self.most_bytes:
            return
        shared = {number: common(kept, tokens) for number, (kept, _) in self._kept.items()}
        for number, count in shared.items():
            if count == len(tokens):
                self._kept.move_to_end(number)
                return
        for number, count in shared.items():
            if count == len(self._kept[number][0]):
                self._drop(number)
        while self.bytes + byte_count > self.most_bytes:
            self._drop(next(iter(self._kept)))
        self._number += 1
        self._kept[self._number] = (np.array(tokens), copy())
        self.bytes += byte_count

    def _drop(self, number):
        _, copies = self._kept.pop(number)
        self.bytes -= sum(each.nbytes for each in copies)
