"""The command `tenon`, asked for JSON."""

import json
import subprocess


class CommandError(Exception):
    pass


def tenon(command, *words):
    run = subprocess.run([str(command), *map(str, words), "--json"], capture_output=True, text=True, check=False)
    if run.returncode != 0:
        raise CommandError(f"tenon {' '.join(map(str, words))}: {run.stderr.strip()}")
    return json.loads(run.stdout)
