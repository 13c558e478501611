"""Requests that share runs of a model: they join and leave between steps, and their caches stay where they are."""

from __future__ import annotations

import collections
import threading
import time

import numpy as np

from tenon import _tenon
from tenon.generation.caches import Caches, capacity_for
from tenon.generation.prefixes import LEAST_SHARED, Prefixes, common
from tenon.generation.speculation import DraftModel, Repeats

_CHUNK = 512  # tokens of prompts in one run, between which the others go on
_MOST_SPECULATING = 8  # texts: products of more rows are no longer bound by reading the weights


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
        self.shared = None  # how many of them came from another text
        self.draft_place, self.guessed = 0, (0, [])  # likewise of a draft model, and what it guessed behind how many tokens
        self.begin = time.perf_counter()
        self.first_seconds = self.seconds = 0.0

    @property
    def pending(self):
        """The tokens that the caches do not hold yet."""
        return self.ids[self.place :] if self.place < len(self.ids) else self.new[self.place - len(self.ids) :]

    def held(self):
        """The tokens that the caches hold."""
        return np.array((self.ids + self.new)[: self.place])

    @property
    def needed(self):
        """Places of the caches that it may come to."""
        return len(self.ids) + self.most - 1

    def end(self, reason, error=None):
        self.reason, self.error = reason, error
        self.seconds = time.perf_counter() - self.begin


class Engine:
    """Runs of a decoder for several requests at once. Any thread may submit, cancel and step.

    Copies of caches, at most `prefix_bytes`, serve prompts that begin like an earlier text. Up to `speculate` tokens are
    guessed at a time, by the decoder `draft` or from what the text had before, where few texts run.
    """

    def __init__(self, decoder, rows=16, cache_bytes=None, prefix_bytes=0, speculate=0, draft=None):
        if rows < 1:
            raise _tenon.Error(f"rows is {rows}, must be at least 1")
        self.decoder, self.most_rows, self.most_bytes = decoder, rows, cache_bytes
        self._lock = threading.Lock()
        self._waiting = collections.deque()
        self._rows = []  # of the caches: the first ones decode, the others are prompts
        self._decoding = 0
        self._caches = Caches(decoder)
        for name, number in (("prefix_bytes", prefix_bytes), ("speculate", speculate)):
            if number < 0:
                raise _tenon.Error(f"{name} is {number}, must not be negative")
        if draft is not None and draft.vocabulary != decoder.vocabulary:
            raise _tenon.Error(f"the draft model knows {draft.vocabulary} tokens, the model {decoder.vocabulary}")
        self._prefixes = Prefixes(prefix_bytes)
        self._speculate = speculate
        self._guesses = Repeats() if draft is None else DraftModel(draft, rows, _CHUNK)
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
                "cache_bytes": self._caches.bytes, "prefix_bytes": self._prefixes.bytes}

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
        return capacity_for(self.decoder, places)

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
        self._share(begin)
        if self.decoder.is_batched and group[0].place == 0:
            longest = len(group[0].ids)
            for row in range(begin + 1, len(self._rows)):
                each = self._rows[row]
                longest = max(longest, len(each.ids))
                if (len(group) + 1) * longest > _CHUNK or self._may_share(each, group):
                    break
                self._share(row)
                if each.place > 0:
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
                self._add_token(each, row[0])
        self._remove_ended()

    def _share(self, row):
        """A prompt that begins like a text in the caches, or like one that was there, begins with copies."""
        request = self._rows[row]
        if request.shared is not None:
            return
        ids = np.array(request.ids)
        most = len(ids) - 1  # the last token gives logits
        request.shared, copies = self._prefixes.longest(ids)
        source = None
        for other, each in enumerate(self._rows):
            count = common(each.held(), ids) if other != row else 0
            if count > request.shared:
                request.shared, source = count, other
        request.shared = min(request.shared, most)
        if request.shared < LEAST_SHARED:
            request.shared = 0
            return
        self._reserve(len(self._rows), request.shared)
        if source is None:
            self._caches.put(row, copies, request.shared)
        else:
            self._caches.move(source, row, request.shared)
        request.place = request.shared
        self.counts["shared_tokens"] += request.shared

    @staticmethod
    def _may_share(request, group):
        """Whether a prompt had better wait until one of the others is read."""
        ids = np.array(request.ids)
        return any(common(np.array(each.ids), ids) >= LEAST_SHARED for each in group)

    def _keep_prefix(self, row):
        request = self._rows[row]
        if self._prefixes.most_bytes > 0 and request.place > 0:
            byte_count = self._caches.bytes_of(1, request.place)
            self._prefixes.add(request.held(), lambda: self._caches.copies(row, request.place), byte_count)

    def _decode(self, count):
        requests = self._rows[:count]
        parts = [requests] if self.decoder.is_batched else [[each] for each in requests]
        for part in parts:
            if not self.decoder.is_batched and part[0] not in self._rows:
                continue  # it has ended with an error beside it
            guesses = self._guess(part)
            logits = self._run(self._rows.index(part[0]), part, [each.pending + guess for each, guess in zip(part, guesses)],
                               1 + max(len(guess) for guess in guesses))
            if logits is None:
                return
            for each, guess, rows in zip(part, guesses, logits):
                self._add_tokens(each, guess, rows)
        self._remove_ended()

    def _guess(self, requests):
        """For each request tokens that may come next: none where they would not pay."""
        is_able = self.decoder.mixes_lengths or len(requests) == 1
        if self._speculate == 0 or not is_able or len(requests) > _MOST_SPECULATING:
            return [[] for _ in requests]
        # All rows are written as far as the longest one, for which there is room as far as one of them may come.
        most = max(each.needed for each in requests)
        room = min(most - each.place - 1 for each in requests)
        counts = [max(0, min(self._speculate, room, each.most - len(each.new) - 1)) for each in requests]
        guesses = self._guesses.propose(requests, counts, self._threads)
        self.counts["guessed_tokens"] += sum(len(guess) for guess in guesses)
        return guesses

    def _add_tokens(self, request, guess, rows):
        """A token behind each one that was guessed right: what is chosen is what would be chosen one by one."""
        for number, row in enumerate(rows[: len(guess) + 1]):
            request.place += 1
            before = len(request.new)
            self._add_token(request, row)
            if request.reason is not None or number == len(guess) or request.new[before] != guess[number]:
                return
            self.counts["right_tokens"] += 1

    def _run(self, begin, requests, chunks, asked=1):
        """Logits [requests, asked, words]: behind the last token of each, or behind each of its first `asked` ones; None
        where the run was an error, which the requests have then."""
        longest = max(len(chunk) for chunk in chunks)
        self._reserve(len(self._rows), max(each.place for each in requests) + longest)
        ids = np.zeros((len(chunks), longest), np.int64)
        for row, chunk in zip(ids, chunks):
            row[: len(chunk)] = chunk
        places = np.array([each.place for each in requests], np.int64)
        last = np.array([len(chunk) - 1 for chunk in chunks], np.int64)[:, None]
        if asked > 1:
            last = np.minimum(last, np.arange(asked))
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
            if request.reason in ("stop", "length"):
                self._keep_prefix(self._rows.index(request))
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
            self._guesses.move(source, target, request.draft_place)
