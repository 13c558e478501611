"""The process of one opponent: answers lines as bench/peers_steps.cpp does.

    python serve.py SIDE THREADS
"""

import json
import os
import sys
import time
from pathlib import Path

import numpy as np


def answers(side, lines):
    """An answer for each line: something that becomes JSON."""
    for line in lines:
        words = line.rstrip("\n").split("\t")
        try:
            if words[0] == "open":
                begin = time.perf_counter()
                side.open(*words[1:])
                yield time.perf_counter() - begin
            elif words[0] == "run":
                yield run(side, words[1].split(","), int(words[2]))
            elif words[0] == "write":
                yield write(side.outputs(), Path(words[1]))
            else:
                yield {"error": f"what is {words[0]}?"}
        except Exception as error:  # pylint: disable=broad-except
            left_out = type(error).__name__ == "LeftOut"
            yield {"left_out" if left_out else "error": f"{'' if left_out else type(error).__name__ + ': '}{error}"[:400]}


def run(side, folders, times):
    """Seconds of each call. What a library needs is made of all inputs before the first."""
    read = [{file.stem: np.load(file) for file in Path(folder).glob("*.npy")} for folder in folders]
    seconds = []
    for arrays in read:
        side.start(arrays)
        for _ in range(times):
            begin = time.perf_counter()
            side.call()
            seconds.append(time.perf_counter() - begin)
    return seconds


def write(outputs, folder):
    folder.mkdir(parents=True, exist_ok=True)
    for number, value in enumerate(outputs):
        np.save(folder / f"{number}.npy", value)
    return len(outputs)


def main():
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what libraries print is no answer
    sys.path.append(str(Path(__file__).parent.parent))
    from opponents.sides import SIDES

    try:
        side = SIDES[sys.argv[1]](int(sys.argv[2]))
    except Exception as error:  # pylint: disable=broad-except
        print(json.dumps({"error": f"{type(error).__name__}: {error}"}), file=out)
        return
    print(json.dumps(side.version), file=out)
    for answer in answers(side, sys.stdin):
        print(json.dumps(answer), file=out)
    os._exit(0)  # without waiting for threads and processes that libraries keep


if __name__ == "__main__":
    main()
