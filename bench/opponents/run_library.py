"""Runs a program of `tenon build` by libtenon_run alone, through the package tenon_runtime.

    python run_library.py LIBRARY PROGRAM FOLDER NAME=FILE.npy...

LIBRARY is libtenon_run.so. Each output goes to FOLDER/N.npy, N from 0 on; bf16 as f32, as the command writes it.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

PACKAGE = Path(__file__).resolve().parents[2] / "python/runtime/tenon_runtime"


def package_over(library, folder):
    """The package beside its library, as its wheel has it."""
    place = Path(folder) / "tenon_runtime"
    place.mkdir()
    for source in [*PACKAGE.glob("*.py"), Path(library).resolve()]:
        (place / ("libtenon_run.so" if source.suffix != ".py" else source.name)).symlink_to(source)
    sys.path.insert(0, str(folder))
    import tenon_runtime

    return tenon_runtime


def main(library, program, folder, *words):
    with tempfile.TemporaryDirectory() as place:
        model = package_over(library, place).load(program)
    named = dict(word.rsplit("=", 1) for word in words)
    outputs = model.run({name: np.load(named[name]) for name, _ in model.inputs})
    Path(folder).mkdir(exist_ok=True)
    for number, ((_, shape), value) in enumerate(zip(model.outputs, outputs.values())):
        if shape.startswith("bf16"):
            value = (value.astype(np.uint32) << 16).view(np.float32)
        np.save(Path(folder) / f"{number}.npy", value)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except Exception as error:  # pylint: disable=broad-except
        sys.exit(f"{type(error).__name__}: {error}")
