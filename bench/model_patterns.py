"""Small ONNX files that have what exporters, quantisers and optimisers write: one pattern each (bench/patterns).

    python bench/model_patterns.py FOLDER

`./dev models --patterns` writes them and holds them against ONNX Runtime.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))  # which `python -I` leaves out; last, since torch.py and others lie there

from patterns import control, layers, quantised, sizes  # noqa: F401  (they fill the table)
from patterns.maker import PATTERNS, Maker


def write(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in PATTERNS.items():
        maker = Maker()
        make(maker)
        maker.save(folder / f"{name}.onnx")
    return len(PATTERNS)


if __name__ == "__main__":
    print(f"{write(Path(sys.argv[1]))} files")
