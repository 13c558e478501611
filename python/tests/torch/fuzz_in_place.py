"""Random programs that write through views, on the device and on the CPU.

    python fuzz_in_place.py --first 0 --count 10000

A program makes tensors of every order of strides, views of them and results of them, and writes into all of these.
After each step sizes, strides and offsets are compared, at the end the elements of every tensor. Elements are small
integers, so that they must be equal.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings

from in_place_program import Program, Undefined
from in_place_results import RESULTS
from in_place_storages import STORAGES
from in_place_views import VIEWS
from in_place_writes import WRITES

STEPS = {"view": VIEWS, "result": RESULTS, "write": WRITES, "storage": STORAGES}


def run(seed: int) -> str | None:
    """What was different, with the program; None for nothing."""
    p = Program(seed, STEPS)
    try:
        for _ in range(p.random.randint(4, 14)):
            p.step()
        p.same_elements()
    except Undefined:
        return None
    except Exception as error:
        return "\n".join([f"program {seed}", *p.text, f"{type(error).__name__}: {error}"])
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--first", type=int, default=0, help="the seed of the first program")
    parser.add_argument("--count", type=int, default=10_000, help="how many programs")
    parser.add_argument("--stop", type=int, default=10, help="end after so many that differ")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    start, different = time.time(), 0
    for n, seed in enumerate(range(arguments.first, arguments.first + arguments.count)):
        if (found := run(seed)) is not None:
            different += 1
            print(found, "\n", flush=True)
            if different >= arguments.stop:
                break
        if (n + 1) % 500 == 0:
            print(f"{n + 1} programs, {different} different, {time.time() - start:.0f} s", file=sys.stderr, flush=True)
    print(f"{n + 1} programs from seed {arguments.first}: {different} different")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
