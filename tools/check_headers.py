#!/usr/bin/env python3
"""Check that each header compiles alone: it includes what it needs, in whatever order it is included itself.

The headers of the standard library are parsed once for all: that each is included where it is needed is what
tools/check_includes.py finds. Needs a configured build tree, with its generated headers written. Prints the compiler's messages for each header that
fails and exits with status 1 when there is any.

With --since COMMIT, only headers that compile differently now than there: those that changed, or that include what
changed, however indirectly. Headers that a program writes while building count as changed where any source did.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

STANDARD = re.compile(r"^#include <(\w+)>$", re.MULTILINE)
OURS = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
# What decides how headers are compiled: where one of these changed, all are.
RULES = ("CMakeLists.txt", "cmake/", "tools/check_headers.py")


def precompile(headers, command, folder):
    """Options that make the standard headers among what `headers` include known without parsing them."""
    names = sorted({name for header in headers for name in STANDARD.findall(header.read_text(encoding="utf-8"))})
    result = Path(folder, "standard.pch")
    run = subprocess.run([*command, "-fpch-instantiate-templates", "-x", "c++-header", "-o", result, "-"],
                         input="".join(f"#include <{name}>\n" for name in names), capture_output=True, text=True)
    if run.returncode:
        sys.exit(f"the standard headers do not compile:\n{run.stderr}")
    return ["-include-pch", result]


def compile_alone(header, command, root):
    run = subprocess.run([*command, "-fsyntax-only", "-x", "c++", "-"], input=f'#include "{header}"\n',
                         capture_output=True, text=True, cwd=root)
    return header, run.returncode, run.stderr


def llvm_include(build):
    """Where the build tree found LLVM's headers; nothing for a tree without LLVM."""
    for line in (build / "CMakeCache.txt").read_text(encoding="utf-8").splitlines():
        name, _, value = line.partition("=")
        if name == "TENON_LLVM_INCLUDE:INTERNAL":
            return value
    return None


def changed_files(root, commit):
    """Paths that differ from those of a commit, with what git does not know yet."""
    git = ["git", "-c", f"safe.directory={root}", "-C", str(root)]
    listed = (["diff", "--name-only", "--no-renames", commit], ["ls-files", "--others", "--exclude-standard"])
    return [name for words in listed
            for name in subprocess.run([*git, *words], capture_output=True, text=True, check=True).stdout.splitlines()]


def affected(headers, changed):
    """Those of `headers` that are among the `changed` files or include one of them, however indirectly."""
    if any(name.startswith(RULES) for name in changed):
        return headers
    has_new_sources = any(name.endswith(".cpp") and name.startswith("src/") for name in changed)
    fresh = {name.partition("/")[2] for name in changed if name.startswith(("src/", "include/"))}
    included = {name: OURS.findall(path.read_text(encoding="utf-8")) for name, path in headers.items()}
    if has_new_sources:
        fresh |= {each for names in included.values() for each in names if each not in headers}
    found = {name for name in headers if name in fresh}
    while more := {name for name in headers if name not in found and not fresh.isdisjoint(included[name])}:
        found |= more
        fresh |= more
    return {name: path for name, path in headers.items() if name in found}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, required=True, help="build tree with generated/include")
    parser.add_argument("--compiler", default="clang++-19", help="a clang")
    parser.add_argument("--since", metavar="COMMIT", help="only what changed since, and what includes that")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    args = parser.parse_args()
    root = args.root.resolve()

    headers = {path.relative_to(root / top).as_posix(): path
               for top in ("include", "src") for path in sorted((root / top).rglob("*.h"))}
    llvm = llvm_include(args.build)
    if llvm is None:
        headers = {name: path for name, path in headers.items() if not path.name.startswith("llvm_")}
    if args.since:
        headers = affected(headers, changed_files(root, args.since))
    if not headers:
        print("no header changed")
        return 0
    command = [args.compiler, "-std=c++20", "-Wall", "-Wextra", "-Werror", "-Iinclude", "-Isrc",
               f"-I{args.build.resolve() / 'generated/include'}", *(["-isystem", llvm] if llvm else [])]
    failed = 0
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        command += precompile(headers.values(), command, folder)
        for header, status, messages in pool.map(lambda name: compile_alone(name, command, root), headers):
            if status:
                failed += 1
                print(f"{header} does not compile alone:\n{messages}", end="")
    print(f"{len(headers) - failed} of {len(headers)} headers compile alone")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
