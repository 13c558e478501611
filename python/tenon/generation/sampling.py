"""How the next token is chosen."""

from __future__ import annotations

import dataclasses

import numpy as np

from tenon import _tenon

_MANY = 1024  # tokens that are sorted first where only some of the most likely ones may be chosen


@dataclasses.dataclass
class Sampling:
    """How the next token is chosen from the logits: the most likely one, unless `temperature` is above 0."""

    temperature: float = 0.0
    top_k: int = 0  # of the so many most likely ones; 0: of all
    top_p: float = 1.0  # of the most likely ones that together have this probability
    repetition_penalty: float = 1.0  # logits of tokens that were there already are divided by it, negative ones multiplied
    seed: int | None = None

    def __post_init__(self):
        wrong = {
            "temperature": not 0 <= self.temperature < float("inf"),
            "top_k": self.top_k < 0,
            "top_p": not 0 < self.top_p <= 1,
            "repetition_penalty": not 0 < self.repetition_penalty < float("inf"),
            "seed": self.seed is not None and self.seed < 0,
        }
        for name, is_wrong in wrong.items():
            if is_wrong:
                raise _tenon.Error(f"{name} is {getattr(self, name)}, which is out of its range")
        self._numbers = np.random.default_rng(self.seed)

    def choose(self, logits, seen):
        """A token; `seen` are those of the prompt and the new ones."""
        logits = np.asarray(logits)
        if self.repetition_penalty != 1:
            logits = logits.astype(np.float64)
            at = np.unique(seen)
            logits[at] = np.where(
                logits[at] > 0, logits[at] / self.repetition_penalty, logits[at] * self.repetition_penalty
            )
        best = int(logits.argmax())  # NaN is the largest number to NumPy
        if np.isnan(logits[best]):
            raise _tenon.Error("the model gave logits that are no numbers (NaN)")
        if self.temperature == 0:
            return best
        likely = np.exp((logits.astype(np.float64) - float(logits[best])) / self.temperature)
        tokens = self._candidates(logits, likely)
        if tokens is not None:
            likely = likely[tokens]
        place = np.searchsorted(np.cumsum(likely), self._numbers.random() * likely.sum(), side="right")
        place = min(int(place), len(likely) - 1)
        return int(place if tokens is None else tokens[place])

    def _candidates(self, logits, likely):
        """The tokens that may be chosen, the most likely one first; None for all of them, in their own order."""
        if self.top_k == 0 and self.top_p == 1:
            return None
        count = len(logits)
        first = min(count, self.top_k or _MANY)
        tokens = _most_likely(logits, first)
        if self.top_p == 1:
            return tokens
        # A token may be chosen while those before it have less than `top_p` together.
        total = likely[tokens].sum() if self.top_k else likely.sum()
        if not self.top_k and likely[tokens].sum() < self.top_p * total:
            tokens = _most_likely(logits, count)
        sums = np.cumsum(likely[tokens])
        return tokens[: int(np.searchsorted(sums, self.top_p * total)) + 1]


def _most_likely(logits, count):
    """So many tokens, the most likely one first; of equals the first."""
    if count < len(logits):
        tokens = np.argpartition(-logits, count - 1)[:count]
        tokens.sort()
    else:
        tokens = np.arange(len(logits))
    return tokens[np.argsort(-logits[tokens], kind="stable")]
