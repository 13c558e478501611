"""How the next token is chosen."""

from __future__ import annotations

import dataclasses

import numpy as np

from tenon import _tenon


@dataclasses.dataclass
class Sampling:
    """How the next token is chosen from the logits: the most likely one, unless `temperature` is above 0. The same seed and
    logits give the same tokens as in C++ (tenon/sampling.h)."""

    temperature: float = 0.0
    top_k: int = 0  # of the so many most likely ones; 0: of all
    top_p: float = 1.0  # of the most likely ones that together have this probability
    repetition_penalty: float = 1.0  # logits of tokens that were there already are divided by it, negative ones multiplied
    seed: int | None = None

    def __post_init__(self):
        for name in ("top_k", "seed"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < 1 << 63:
                raise _tenon.Error(f"{name} is {value}, which is out of its range")
        self._sampler = _tenon.Sampler(self.temperature, self.top_k, self.top_p, self.repetition_penalty, self.seed)

    def choose(self, logits, seen):
        """A token; `seen` are those of the prompt and the new ones."""
        seen = seen if self.repetition_penalty != 1 else []
        return self._sampler.choose(np.ascontiguousarray(logits, np.float32), seen)
