"""A model as a program: `tenon build`, then the command and libtenon_run alone, which must give the compiled model's bits."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

COMMAND = os.environ["TENON_COMMAND"]
TIMEOUT = 600


def reason_of(text):
    lines = [line.strip() for line in text.strip().splitlines()]
    first = lines[0].removeprefix("tenon: ") if lines else "no message"
    where = next((line for line in lines[1:] if line.startswith("at node")), "")
    return f"{first} {where}".strip()


def called(*words):
    """What a command printed, and what is wrong where it failed."""
    run = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=TIMEOUT, check=False)
    return run.stdout, f"status {run.returncode}: {reason_of(run.stderr)}" if run.returncode else ""


def program_differs(path, sources, folder, threads):
    """What is wrong with the program that `tenon build` makes of a file. `sources` are NAME=FILE.npy by name."""
    program = folder / "model.tenon"
    words = [word for source in sources.values() for word in ("--input", source)]
    run = ["--threads", threads, "--output"]
    for step in [("build", path, "-o", program, *words), ("run", path, *run, folder / "compiled", *words)]:
        if failed := called(COMMAND, *step)[1]:
            return f"as a program: {failed}"
    about = json.loads(called(COMMAND, "inspect", program, "--json")[0])
    taken = [sources[each["name"]] for each in about["inputs"]]
    words = [word for source in taken for word in ("--input", source)]
    if failed := called(COMMAND, "run", program, *run, folder / "loaded", *words)[1]:
        return f"as a program: {failed}"
    for file in sorted((folder / "compiled").iterdir()):
        if file.read_bytes() != (folder / "loaded" / file.name).read_bytes():
            return f"as a program it gives another {file.stem}"
    return library_differs(program, taken, [each["name"] for each in about["outputs"]], folder)


def library_differs(program, sources, outputs, folder):
    """The same of libtenon_run, in a process of its own."""
    script, library = Path(__file__).with_name("run_library.py"), Path(COMMAND).parent / "libtenon_run.so"
    if failed := called(sys.executable, "-I", script, library, program, folder / "apart", *sources)[1]:
        return f"by libtenon_run: {failed}"
    for number, name in enumerate(outputs):
        safe = name.replace("/", "_")
        wanted = np.load(folder / "loaded" / f"{'_' if safe.startswith('.') else ''}{safe}.npy")
        got = np.load(folder / "apart" / f"{number}.npy")
        if (wanted.dtype, wanted.shape, wanted.tobytes()) != (got.dtype, got.shape, got.tobytes()):
            return f"libtenon_run gives another {name}"
    return ""
