"""From times to figures: medians, ratios, means. A ratio is how many times as fast as an opponent Tenon is.

A row is a workload with a number of threads: {"name", "group", "threads", "sides"}. A side is {"first": seconds,
"steady": [seconds of each round], "memory": bytes, "stream": {"seconds", "done"}}, or {"missing": why}, or {"left_out":
why}.
"""

import math
import statistics

from .names import OURS

APART = ("call", "int8", "train")  # groups that are no part of the mean over inference in f32


def is_there(side):
    return bool(side.get("steady"))


def median(side):
    """Seconds."""
    return statistics.median(side["steady"])


def spread(side):
    """How far the slowest and the fastest round are apart, as a part of the median."""
    return (max(side["steady"]) - min(side["steady"])) / median(side)


def rate(side):
    """Sizes a second of the stream, compiles included; None where there was none."""
    stream = side.get("stream")
    return stream["done"] / stream["seconds"] if stream and stream["done"] else None


def ratios(row, figure="steady"):
    """By opponent. `first` is of first calls, `memory` of bytes, `stream` of throughput."""
    take = {"steady": lambda side: median(side) if is_there(side) else None, "first": lambda side: side.get("first"),
            "memory": lambda side: side.get("memory"), "stream": lambda side: 1 / rate(side) if rate(side) else None}[figure]
    ours = take(row["sides"].get(OURS, {}))
    if not ours:
        return {}
    found = {name: take(side) for name, side in row["sides"].items() if name != OURS}
    return {name: theirs / ours for name, theirs in found.items() if theirs}


def fastest(row, figure="steady"):
    """(opponent, ratio) of the one that is hardest to beat; None where there is none."""
    found = ratios(row, figure)
    return min(found.items(), key=lambda each: each[1]) if found else None


def geometric_mean(values):
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def means(rows, figure="steady"):
    """(ratio against each opponent and "fastest", and of how many rows) over these rows."""
    found = {}
    for row in rows:
        against = ratios(row, figure)
        if against:
            for name, value in {**against, "fastest": min(against.values())}.items():
                found.setdefault(name, []).append(value)
    return {name: (geometric_mean(values), len(values)) for name, values in found.items()}


def in_mean(rows):
    return [row for row in rows if row["group"] not in APART]


def by_threads(rows):
    return {threads: [row for row in rows if row["threads"] == threads]
            for threads in sorted({row["threads"] for row in rows})}


def seconds_text(seconds):
    for unit, scale in (("s", 1), ("ms", 1e3), ("us", 1e6)):
        if seconds * scale >= 1 or unit == "us":
            digits = seconds * scale
            return f"{digits:.{0 if digits >= 100 else 1 if digits >= 10 else 2}f} {unit}"
    return ""


def bytes_text(count):
    return f"{count / 2**30:.2f} GiB" if count >= 2**30 else f"{count / 2**20:.0f} MiB"
