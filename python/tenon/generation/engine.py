"""Requests that share runs of a model: they join and leave between steps, and their caches stay where they are."""

from __future__ import annotations

import collections
import threading
import time

import numpy as np

from tenon import _tenon

_CHUNK = 512  # tokens of prompts in one run, between which the others go on
_LEAST_CAPACITY = 64


class Request:
    """One prompt and what becomes of it. `on_change` is called, in the thread that steps, when there are new pieces or it
    has ended."""

    def __init__(self, ids, most, text, sampling, on_change=None):
        self.ids, self.most, self.text, self.sampling = ids, most, text, sampling
        self.on_change = on_change
        self.new = []
        self.pieces = collections.deque()
        self.is_cancelled = False
        self.reason = None  # why it has ended: "stop", "length", "cancelled" or "error"
        self.error = None
        self.place = 0  # how many tokens the caches hold
        self.begin = time.perf_counter()
        self.first_seconds = self.seconds = 0.0

    @property
    def pending(self):
        """The tokens that the caches do not hold yet."""
        return self.ids[self.place :] if self.place < len(self.ids) else self.new[self.place - len(self.ids) :]

    @property
    def needed(self):
        """Places of the caches that it may come to."""
        return len(self.ids) + self.most - 1

    def end(self, reason, error=None):
        self.reason, self.error = reason, error
        self.seconds = time.perf_counter() - self.begin


class _Caches:
    """Arrays of all layers, a row for each sequence, with room that doubles."""

    def __init__(self, decoder):
        self._shape, self._dtypes = decoder.cache_shape, decoder.cache_dtypes
        self._axis = decoder.cache_shape.index(None)
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
        places = tuple(slice(0, count) if size is None else slice(None) for size in self._shape)
        for array in self._arrays:
            array[(target, *places)] = array[(source, *places)]

    def bytes_of(self, rows, capacity):
        dims = [capacity if size is None else size for size in self._shape]
        return sum(rows * int(np.prod(dims)) * np.dtype(dtype).itemsize for dtype in self._dtypes)

    @property
    def bytes(self):
        return self.bytes_of(self.rows, self.capacity)


class Engine:
    """Runs of a decoder for several requests at once. Any thread may submit, cancel and step."""

    def __init__(self, decoder, rows=16, cache_bytes=None):
        if rows < 1:
            raise _tenon.Error(f"rows is {rows}, must be at least 1")
        self.decoder, self.most_rows, self.most_bytes = decoder, rows, cache_bytes
        self._lock = threading.Lock()
        self._waiting = collections.deque()
        self._rows = []  # of the caches: the first ones decode, the others are prompts
        self._decoding = 0
        self._caches = _Caches(decoder)
        self._threads = None
        self.counts = collections.Counter()

    def submit(self, request):
        """Waits for no step that goes on."""
        self._require_room(request)
        self._waiting.append(request)
        return request

    def cancel(self, request):
        """What has not ended leaves, and its place is free: now, or when the step is over that another thread runs."""
        if request.reason is None:
            request.is_cancelled = True
            if self._lock.acquire(blocking=False):
                try:
                    self._drop_cancelled()
                finally:
                    self._lock.release()

    def fail(self, error):
        """All requests end with an error: a step has left them half done."""
        with self._lock:
            for request in [*list(self._waiting), *self._rows]:
                self._end(request, "error", error)
            self._waiting.clear()
            self._rows.clear()
            self._decoding = 0

    def state(self):
        """How many requests wait, read their prompts and decode, and bytes of caches."""
        rows, decoding = len(self._rows), self._decoding
        return {"waiting": len(self._waiting), "reading": max(0, rows - decoding), "decoding": decoding,
                "cache_bytes": self._caches.bytes}

    def _drop_cancelled(self):
        for request in [each for each in [*list(self._waiting), *self._rows] if each.is_cancelled and each.reason is None]:
            if request in self._rows:
                self._remove(self._rows.index(request))
            else:
                self._waiting.remove(request)
            self._end(request, "cancelled")

    def step(self, threads=None):
        """A part of a prompt, then a token for each sequence; whether there was anything to do."""
        with self._lock:
            self._threads = threads
            self._drop_cancelled()
            self._admit()
            if not self._rows:
                return False
            decoding = self._decoding
            if len(self._rows) > decoding:
                self._read()
            if decoding > 0:
                self._decode(decoding)
            self._drop_cancelled()
            return True

    def _require_room(self, request):
        needed = self._caches.bytes_of(1, self._capacity_for(request.needed))
        if self.most_bytes is not None and needed > self.most_bytes:
            raise _tenon.Error(f"{len(request.ids)} tokens of the prompt and {request.most} new ones take {needed} bytes of "
                               f"cache, and {self.most_bytes} are allowed: ask for fewer, or allow more")

    def _capacity_for(self, places):
        """A power of 2, but no more than the context needs."""
        power = max(_LEAST_CAPACITY, 1 << (max(places, 1) - 1).bit_length())
        return min(power, -(-max(self.decoder.context, 1) // _LEAST_CAPACITY) * _LEAST_CAPACITY)

    def _admit(self):
        while self._waiting and len(self._rows) < self.most_rows:
            most = max(each.needed for each in [*self._rows, self._waiting[0]])
            rows = len(self._rows) + 1
            needed = self._caches.bytes_of(rows, self._capacity_for(most))
            if self.most_bytes is not None and self._rows and needed > self.most_bytes:
                return
            self._rows.append(self._waiting.popleft())
            self.counts["requests"] += 1

    def _reserve(self, count, places):
        rows = self._caches.rows
        while rows < count:
            rows = min(max(1, 2 * rows), self.most_rows)
        self._caches.reserve(rows, self._capacity_for(places))

    def _read(self):
        """The next part of the first prompt, or the first whole prompts that make up one."""
        begin = self._decoding
        group = [self._rows[begin]]
        if self.decoder.is_batched and group[0].place == 0:
            longest = len(group[0].ids)
            for each in self._rows[begin + 1 :]:
                longest = max(longest, len(each.ids))
                if (len(group) + 1) * longest > _CHUNK:
                    break
                group.append(each)
        chunks = [each.pending[:_CHUNK] for each in group]
        logits = self._run(begin, group, chunks)
        if logits is None:
            return
        for each, chunk, row in zip(group, chunks, logits):
            each.place += len(chunk)
            self.counts["prompt_tokens"] += len(chunk)
            if each.place == len(each.ids):
                self._decoding += 1
                self._add_token(each, row)
        self._remove_ended()

    def _decode(self, count):
        requests = self._rows[:count]
        parts = [requests] if self.decoder.is_batched else [[each] for each in requests]
        for part in parts:
            if not self.decoder.is_batched and part[0] not in self._rows:
                continue  # it has ended with an error beside it
            logits = self._run(self._rows.index(part[0]), part, [each.pending for each in part])
            if logits is None:
                return
            for each, row in zip(part, logits):
                each.place += 1
                self._add_token(each, row)
        self._remove_ended()

    def _run(self, begin, requests, chunks):
        """Logits behind the last token of each; None where the run was an error, which the requests have then."""
        longest = max(len(chunk) for chunk in chunks)
        self._reserve(len(self._rows), max(each.place for each in requests) + longest)
        ids = np.zeros((len(chunks), longest), np.int64)
        for row, chunk in zip(ids, chunks):
            row[: len(chunk)] = chunk
        places = np.array([each.place for each in requests], np.int64)
        last = np.array([len(chunk) - 1 for chunk in chunks], np.int64)
        caches = self._caches.of(begin, begin + len(chunks))
        self.counts["runs"] += 1
        try:
            return self.decoder.run(ids, places, last, caches, self._threads)
        except _tenon.Error as error:
            for each in requests:
                self._remove(self._rows.index(each))
                self._end(each, "error", error)
            return None

    def _add_token(self, request, logits):
        try:
            token = request.sampling.choose(logits[: self.decoder.vocabulary], request.ids + request.new)
        except _tenon.Error as error:
            request.end("error", error)
            return
        request.first_seconds = request.first_seconds or time.perf_counter() - request.begin
        if token in self.decoder.ends:
            request.end("stop")
            return
        request.new.append(token)
        self.counts["new_tokens"] += 1
        piece = request.text.add(token) if request.text.tokenizer else token
        if piece != "":
            request.pieces.append(piece)
        if request.text.is_stopped:
            request.end("stop")
        elif len(request.new) == request.most:
            request.end("length")
        elif piece != "" and request.on_change:
            request.on_change(request)

    def _remove_ended(self):
        for request in [each for each in self._rows if each.reason is not None]:
            self._remove(self._rows.index(request))
            self._end(request, request.reason, request.error)

    def _end(self, request, reason, error=None):
        rest = request.text.rest()
        if rest:
            request.pieces.append(rest)
        if request.reason is None:
            request.end(reason, error)
        self.counts["ended_by_" + reason] += 1
        if request.on_change:
            request.on_change(request)

    def _remove(self, row):
        """The last sequence that decodes takes its place, and the last prompt that of the former."""
        if row < self._decoding:
            self._decoding -= 1
            self._put(self._decoding, row)
            row = self._decoding
        self._put(len(self._rows) - 1, row)
        self._rows.pop()

    def _put(self, source, target):
        if source != target:
            request = self._rows[source]
            self._rows[target] = request
            self._caches.move(source, target, request.place)
