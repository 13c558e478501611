"""Guesses of the next tokens, which the model checks several at a time: what is generated stays the same."""

from __future__ import annotations

import numpy as np

from tenon import _tenon
from tenon.generation.caches import Caches, capacity_for

_LONGEST, _SHORTEST = 3, 2  # tokens that must have occurred before


class Repeats:
    """What followed when the last tokens of a text occurred before."""

    def __init__(self):
        self._texts = {}

    def propose(self, requests, counts, threads):
        """For each request at most so many tokens, which may follow those that it has."""
        self._texts = {id(each): self._texts.get(id(each)) or _Text(each) for each in requests}
        return [self._texts[id(each)].propose(count) for each, count in zip(requests, counts)]

    def move(self, source, target, count):
        """Nothing is kept by rows."""


class _Text:
    """Where the groups of tokens of one text end."""

    def __init__(self, request):
        self._request = request
        self._known = 0
        self._tokens = []
        self._ends = {}

    def propose(self, count):
        self._tokens.extend((self._request.ids + self._request.new)[len(self._tokens) :])
        for end in range(self._known + 1, len(self._tokens)):  # all but the last ones, whose successor is asked for
            for length in range(_SHORTEST, _LONGEST + 1):
                if end >= length:
                    self._ends[tuple(self._tokens[end - length : end])] = end
        self._known = max(self._known, len(self._tokens) - 1)
        for length in range(_LONGEST, _SHORTEST - 1, -1):
            end = self._ends.get(tuple(self._tokens[-length:])) if len(self._tokens) >= length else None
            if end is not None:
                return self._tokens[end : end + count]
        return []


class DraftModel:
    """The most likely tokens of a smaller model, whose caches have a row for each of the large one's."""

    def __init__(self, decoder, most_rows, chunk):
        if not decoder.mixes_lengths:
            raise _tenon.Error("a draft model must be a folder of transformers")
        self._decoder, self._most_rows, self._chunk = decoder, most_rows, chunk
        self._caches = Caches(decoder)

    def propose(self, requests, counts, threads):
        """As above; `requests` are those of the first rows. A text that comes near the context of the draft model is guessed
        no more, and its row has a token that nobody reads."""
        most = max(counts, default=0)
        texts = [each.ids + each.new for each in requests]
        is_short = [len(text) + 2 * (most + 1) <= self._decoder.context for text in texts]
        if most == 0 or not any(is_short):
            return [[] for _ in requests]
        for row, (request, text) in enumerate(zip(requests, texts)):
            if is_short[row]:
                request.draft_place = min(request.draft_place, _right_guesses(request, text), len(text) - 1)
                self._read(row, request, text, most + 1, threads)
        guesses = [[] for _ in requests]
        chunks = [text[request.draft_place :] if short else [0] for request, text, short in zip(requests, texts, is_short)]
        for _ in range(most):
            places = [request.draft_place if short else 0 for request, short in zip(requests, is_short)]
            tokens = self._run(0, chunks, places, threads)
            for request, chunk, guess, token in zip(requests, chunks, guesses, tokens):
                request.draft_place += len(chunk)
                guess.append(int(token))
            chunks = [[guess[-1]] if short else [0] for guess, short in zip(guesses, is_short)]
        for request, text, guess in zip(requests, texts, guesses):
            request.guessed = len(text), guess
        return [guess[:count] if short else [] for guess, count, short in zip(guesses, counts, is_short)]

    def _read(self, row, request, text, most, threads):
        """A text by itself, in parts, until at most so many of its tokens are left."""
        while len(text) - request.draft_place > most:
            part = text[request.draft_place : min(request.draft_place + self._chunk, len(text) - 1)]
            self._run(row, [part], [request.draft_place], threads)
            request.draft_place += len(part)

    def move(self, source, target, count):
        if source < self._caches.rows:
            self._caches.move(source, target, min(count, self._caches.capacity))

    def _run(self, row, chunks, places, threads):
        """The most likely token behind each of the chunks."""
        longest = max(len(chunk) for chunk in chunks)
        rows = self._caches.rows
        while rows < row + len(chunks):
            rows = min(max(1, 2 * rows), self._most_rows)
        self._caches.reserve(rows, capacity_for(self._decoder, max(places) + longest))
        ids = np.zeros((len(chunks), longest), np.int64)
        for line, chunk in zip(ids, chunks):
            line[: len(chunk)] = chunk
        last = np.array([[len(chunk) - 1] for chunk in chunks], np.int64)
        caches = self._caches.of(row, row + len(chunks))
        logits = self._decoder.run(ids, np.array(places, np.int64), last, caches, threads)
        return logits[:, 0, : self._decoder.vocabulary].argmax(-1)


def _right_guesses(request, text):
    """How many tokens of a text were guessed right, those before the guess among them."""
    begin, guess = request.guessed
    wrong = (i for i, (a, b) in enumerate(zip(guess, text[begin:])) if a != b)
    return begin + next(wrong, min(len(guess), len(text) - begin))
