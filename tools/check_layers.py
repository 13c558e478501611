#!/usr/bin/env python3
"""Check that includes point down only.

The layers, their rooms and what each of them sees are read from the tenon_layer() table in CMakeLists.txt. Every
#include in src/ must name the same folder or one that it sees, and within a folder the same room or one that it sees; a
public header belongs to the layer given below and is held to the same rule. The umbrella, tenon/tenon.h, includes every
public header. Prints one line for each violation and exits with status 1 when there is any.
"""

import argparse
import re
import sys
from pathlib import Path

# The layer that each header of include/tenon/ (or a generated one) belongs to.
PUBLIC_HEADERS = {
    "error.h": "base",
    "position_error.h": "base",
    "unsupported.h": "base",
    "half.h": "base",
    "dtype.h": "base",
    "array.h": "base",
    "storage.h": "base",
    "machine.h": "base",
    "precision.h": "base",
    "gpu.h": "backend",
    "extent.h": "shape",
    "shape.h": "shape",
    "bindings.h": "shape",
    "assumptions.h": "shape",
    "interval.h": "shape",
    "constraint.h": "shape",
    "graph.h": "ir",
    "operand.h": "ops",
    "ops.h": "ops",
    "elementwise.h": "ops",
    "convolution.h": "ops",
    "indexing.h": "ops",
    "selection.h": "ops",
    "control.h": "ops",
    "nn.h": "ops",
    "losses.h": "ops",
    "recurrent.h": "ops",
    "einsum.h": "ops",
    "random.h": "ops",
    "text.h": "text",
    "interpreter.h": "interp",
    "autodiff.h": "passes",
    "donate.h": "passes",
    "optimizers.h": "passes",
    "cancel.h": "runtime",
    "dlpack.h": "runtime",
    "executable.h": "runtime",
    "memory_timeline.h": "runtime",
    "mesh.h": "mesh",
    "mesh_program.h": "mesh",
    "run_observer.h": "runtime",
    "run_report.h": "runtime",
    "size_counts.h": "runtime",
    "strided_array.h": "runtime",
    "tensor_view.h": "runtime",
    "trace.h": "runtime",
    "program_file.h": "saved",
    "c.h": "capi",
    "compile.h": "compiler",
    "build_program.h": "build",
    "autograd.h": "tensor",
    "module.h": "tensor",
    "modules.h": "tensor",
    "optim.h": "tensor",
    "explain.h": "tensor",
    "realizations.h": "tensor",
    "weighted_executable.h": "tensor",
    "safetensors.h": "tensor",
    "tensor.h": "tensor",
    "tensor_methods.inc": "tensor",
    "tensor_ops.h": "tensor",
    "traced.h": "tensor",
    "models.h": "models",
    "partition.h": "partition",
    "onnx.h": "onnx",
    "onnx_export.h": "onnx",
    "load.h": "load",
    "save.h": "load",
    "sampling.h": "generation",
    "token_generator.h": "generation",
}
# For programs in C: it is no part of the umbrella, and includes the headers of C.
FOR_C = {"c.h"}
# Headers of other projects whose folder is called as one of ours.
FOREIGN = {"onnx/onnx_pb.h"}
UMBRELLA = "tenon.h"  # includes every public header; for users, tests and programs, not for src/

LAYER = re.compile(r"^tenon_layer\((\w+)([^)]*)\)", re.MULTILINE)
GENERATED = re.compile(r"^tenon_generate_header\((\S+)", re.MULTILINE)
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
KEYWORDS = {"DEPS", "DIR", "ONLY", "EXCEPT", "ROOMS", "HEADERS", "ALONE", "APART"}
TOP = "."  # the room of the files directly in a folder


def read_layers(cmake_text):
    """Two maps: folder of src/ -> the folders that it sees, and -> its rooms with those that each sees; itself always."""
    folder_of, sees, rooms = {}, {}, {}
    for name, rest in LAYER.findall(cmake_text):
        options, key = {}, None
        for word in rest.split():
            if word in KEYWORDS:
                key = word
                options[key] = []
            else:
                options[key].append(word)
        folder = options.get("DIR", [name])[0]
        folder_of[name] = folder
        seen = sees.setdefault(folder, {folder})
        for dep in options.get("DEPS", []):
            if dep not in folder_of:
                raise SystemExit(f"CMakeLists.txt: layer {name} names {dep}, which is not declared above it")
            seen |= sees[folder_of[dep]]
        if "ROOMS" in options:
            rooms[folder] = read_rooms(name, options["ROOMS"])
    if not sees:
        raise SystemExit("CMakeLists.txt: no tenon_layer() lines found")
    return sees, rooms


def read_rooms(layer, words):
    """Room -> the rooms that it sees, from words such as `math` (all before it) or `export:.` (those and what they see)."""
    seen = {}
    for word in words + [TOP] * all(w.partition(":")[0] != TOP for w in words):
        room, named, others = word.partition(":")
        seen[room] = {room}
        for other in others.split(",") if named else list(seen):
            if other not in seen:
                raise SystemExit(f"CMakeLists.txt: room {room} of {layer} names {other}, which is not before it")
            seen[room] |= seen[other]
    return seen


def includes(path):
    """(line number, '<' or '"', target) of every #include."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            yield number, match.group(1), match.group(2)


def is_standard(target):
    return "/" not in target and "." not in target


def room_of(path):
    """Of a path within a layer."""
    return path.parts[0] if len(path.parts) > 1 else TOP


class Checker:
    def __init__(self, root):
        self.root = root
        table = (root / "CMakeLists.txt").read_text(encoding="utf-8")
        self.sees, self.rooms = read_layers(table)
        self.generated = set(GENERATED.findall(table))
        self.violations = []

    def report(self, path, number, text):
        self.violations.append(f"{path.relative_to(self.root).as_posix()}:{number}: {text}")

    def check_target(self, path, number, layer, target):
        """`target`, written in quotes, from a file of `layer`."""
        folder, slash, name = target.partition("/")
        if folder == "tenon" and name == UMBRELLA:
            self.report(path, number, f"{layer} must not include {target}: name the header that is needed")
            return
        if folder == "tenon":
            owner = PUBLIC_HEADERS.get(name)
            if owner is None:
                self.report(path, number, f"{target} has no layer: add it to PUBLIC_HEADERS in tools/check_layers.py")
                return
        elif not slash or folder not in self.sees:
            self.report(path, number, f"{target}: includes are written folder/file.h, from src/ or include/")
            return
        else:
            owner = folder
        if owner not in self.sees[layer]:
            below = ", ".join(f for f in self.sees if f in self.sees[layer] and f != layer) or "no other layer"
            owned = f", which belongs to {owner}" if folder == "tenon" else ""
            self.report(path, number, f"{layer} must not include {target}{owned} ({layer} sees {below})")

    def check_room(self, path, number, layer, target):
        """`target`, of the same layer: between its rooms."""
        room = room_of(path.relative_to(self.root / "src" / layer))
        if room_of(Path(target).relative_to(layer)) not in self.rooms[layer][room]:
            here = f"{layer}/{room}" if room != TOP else f"what is directly in {layer}"
            self.report(path, number, f"{here} must not include {target}: that room is not one that it sees")

    def check_source(self, path):
        layer = path.relative_to(self.root / "src").parts[0]
        if layer not in self.sees:
            self.report(path, 1, f"src/{layer} is not a layer: add it to the table in CMakeLists.txt")
            return
        room = room_of(path.relative_to(self.root / "src" / layer))
        if room not in self.rooms.get(layer, {TOP}):
            self.report(path, 1, f"src/{layer}/{room} is not a room: add it to ROOMS of {layer} in CMakeLists.txt")
            return
        for number, kind, target in includes(path):
            if kind == '"':
                self.check_target(path, number, layer, target)
                if layer in self.rooms and target.startswith(layer + "/"):
                    self.check_room(path, number, layer, target)
            elif target.split("/")[0] in {"tenon", *self.sees} and "/" in target and target not in FOREIGN:
                self.report(path, number, f'<{target}>: our own headers are included as "{target}"')

    def check_public(self, path):
        name = path.relative_to(self.root / "include/tenon").as_posix()
        layer = PUBLIC_HEADERS.get(name)
        if layer is None and name != UMBRELLA:
            self.report(path, 1, f"tenon/{name} has no layer: add it to PUBLIC_HEADERS in tools/check_layers.py")
            return
        for number, kind, target in includes(path):
            if name in FOR_C and kind == "<" and re.fullmatch(r"std\w+\.h", target):
                continue
            if not (is_standard(target) if kind == "<" else target.startswith("tenon/")):
                shown = f"<{target}>" if kind == "<" else target
                self.report(path, number, f"a public header must not include {shown}: tenon/ and standard headers only")
            elif kind == '"' and name != UMBRELLA:
                self.check_target(path, number, layer, target)

    def check_umbrella(self):
        """Where there is one, it includes every public header, those among them that the build generates."""
        path = self.root / "include/tenon" / UMBRELLA
        if not path.exists():
            return
        included = {target for _, _, target in includes(path)}
        public = {f"tenon/{header.name}" for header in path.parent.glob("*.h") if header.name not in {UMBRELLA, *FOR_C}}
        for target in sorted(public | {header for header in self.generated if header.endswith(".h")}):
            if target not in included:
                self.report(path, 1, f"tenon/{UMBRELLA} lacks {target}: it includes every public header")

    def run(self):
        for path in sorted((self.root / "src").rglob("*")):
            if path.suffix in {".h", ".cpp"}:
                self.check_source(path)
        for path in sorted((self.root / "include").rglob("*.h")):
            self.check_public(path)
        self.check_umbrella()
        return self.violations


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", nargs="?", type=Path, default=Path(__file__).resolve().parent.parent)
    violations = Checker(parser.parse_args().root.resolve()).run()
    for line in violations:
        print(line)
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
