#!/usr/bin/env python3
"""Check that each header compiles alone: it includes what it needs, in whatever order it is included itself.

Needs a configured build tree, with its generated headers written. Prints the compiler's messages for each header that
fails and exits with status 1 when there is any.
"""

import argparse
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path


def compile_alone(header, command, root):
    run = subprocess.run(command, input=f'#include "{header}"\n', capture_output=True, text=True, cwd=root)
    return header, run.returncode, run.stderr


def llvm_include(build):
    """Where the build tree found LLVM's headers; nothing for a tree without LLVM."""
    for line in (build / "CMakeCache.txt").read_text(encoding="utf-8").splitlines():
        name, _, value = line.partition("=")
        if name == "TENON_LLVM_INCLUDE:INTERNAL":
            return value
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, required=True, help="build tree with generated/include")
    parser.add_argument("--compiler", default="c++")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    args = parser.parse_args()
    root = args.root.resolve()

    headers = [path.relative_to(root / top).as_posix()
               for top in ("include", "src") for path in sorted((root / top).rglob("*.h"))]
    llvm = llvm_include(args.build)
    if llvm is None:
        headers = [header for header in headers if not Path(header).name.startswith("llvm_")]
    command = [args.compiler, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror",
               "-Iinclude", "-Isrc", f"-I{args.build.resolve() / 'generated/include'}", *(["-isystem", llvm] if llvm else []), "-x", "c++", "-"]
    failed = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for header, status, messages in pool.map(lambda h: compile_alone(h, command, root), headers):
            if status:
                failed += 1
                print(f"{header} does not compile alone:\n{messages}", end="")
    print(f"{len(headers) - failed} of {len(headers)} headers compile alone")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
