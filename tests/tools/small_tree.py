"""Trees of a few files that the checks of tools/ are tried on."""
import pathlib
import subprocess
import sys
import tempfile

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"


def check(script, files):
    """Run a script of tools/ on a tree of {path: text}; (status, output)."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        done = subprocess.run([sys.executable, "-B", TOOLS / script, folder], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr
