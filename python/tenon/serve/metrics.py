"""Counters in the form that Prometheus reads."""

import collections

_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class _Histogram:
    def __init__(self, name, doc):
        self._name, self._doc = name, doc
        self._counts, self._sum = [0] * (len(_SECONDS) + 1), 0.0

    def add(self, seconds):
        self._counts[next((i for i, most in enumerate(_SECONDS) if seconds <= most), len(_SECONDS))] += 1
        self._sum += seconds

    def lines(self):
        yield f"# HELP {self._name} {self._doc}"
        yield f"# TYPE {self._name} histogram"
        total = 0
        for most, count in zip((*_SECONDS, "+Inf"), self._counts):
            total += count
            yield f'{self._name}_bucket{{le="{most}"}} {total}'
        yield f"{self._name}_sum {self._sum:.6f}"
        yield f"{self._name}_count {total}"


class Metrics:
    def __init__(self, generator):
        self._generator = generator
        self.refused = collections.Counter()  # by status
        self._first = _Histogram("tenon_serve_first_token_seconds", "from a request to its first token")
        self._all = _Histogram("tenon_serve_request_seconds", "from a request to its last token")

    def add(self, result):
        self._first.add(result.first_seconds)
        self._all.add(result.seconds)

    def text(self):
        engine = self._generator.engine
        counts, state = dict(engine.counts), engine.state()
        lines = []

        def value(name, kind, doc, *values):
            lines.append(f"# HELP {name} {doc}")
            lines.append(f"# TYPE {name} {kind}")
            lines.extend(f"{name}{labels} {number}" for labels, number in values)

        ended = [(f'{{by="{key[len("ended_by_"):]}"}}', n) for key, n in sorted(counts.items()) if key.startswith("ended_by_")]
        value("tenon_serve_requests_total", "counter", "requests that have ended, by the reason", *ended)
        refused = [(f'{{status="{status}"}}', n) for status, n in sorted(self.refused.items())]
        value("tenon_serve_refused_total", "counter", "requests that were refused", *refused)
        for name in ("prompt_tokens", "shared_tokens", "new_tokens", "guessed_tokens", "right_tokens", "runs"):
            value(f"tenon_serve_{name}_total", "counter", f"{name.replace('_', ' ')} so far", ("", counts.get(name, 0)))
        for name in ("waiting", "reading", "decoding"):
            value(f"tenon_serve_{name}", "gauge", f"requests that are {name} now", ("", state[name]))
        value("tenon_serve_cache_bytes", "gauge", "memory of caches of keys and values", ("", state["cache_bytes"]))
        value("tenon_serve_prefix_bytes", "gauge", "memory of copies for prompts that begin alike", ("", state["prefix_bytes"]))
        lines.extend(self._first.lines())
        lines.extend(self._all.lines())
        return "\n".join(lines) + "\n"
