"""The command `tenon`, asked for JSON, and the options that say where it is."""

import json
import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class CommandError(Exception):
    pass


def add_places(parser, folder):
    """Options for what is run, and for where files are kept: `folder` in the build tree, unless told."""
    parser.add_argument("--tenon", type=Path, default=os.environ.get("TENON_COMMAND", ROOT / "build/release/tenon"),
                        help="the command; bench_peers_steps lies beside it")  # fmt: skip
    parser.add_argument("--python", help="the interpreter that has the opponents (./dev: instead of its own)")
    parser.add_argument("--folder", type=Path, default=os.environ.get("TENON_BENCH_FOLDER", ROOT / "build" / folder),
                        help="where models and inputs are kept")  # fmt: skip


def tenon(command, *words):
    run = subprocess.run([str(command), *map(str, words), "--json"], capture_output=True, text=True, check=False)
    if run.returncode != 0:
        raise CommandError(f"tenon {' '.join(map(str, words))}: {run.stderr.strip()}")
    return json.loads(run.stdout)
