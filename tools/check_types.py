"""Each type of a namespace is defined once, and internal ones outside of the namespace that users see.

Two types of one name and namespace are undefined behaviour, even where no file sees both: the linker keeps one copy of
what templates such as std::vector make of them. And a type of `namespace tenon` takes a name from the users, who say
`using namespace tenon`: the folders of INTERNAL have namespaces of their own, such as tenon::schedule. Anonymous
namespaces of sources do not count.

A test tests/FOLDER/NAME_test.cpp has a namespace of its own, such as tenon::NAME_test: several tests are compiled
together, and may then give their helpers the same names.

usage: check_types.py [ROOT]
Prints PATH:LINE: MESSAGE for each type that is defined again or in the users' namespace, and for each test without a
namespace of its own; the status is then 1.
"""
import pathlib
import re
import sys

NAMESPACE = re.compile(r"namespace\s*([\w:]*)\s*\{\s*(//.*)?$")
END = re.compile(r"\}\s*//\s*namespace")
TYPE = re.compile(r"(?:struct|class|union|enum class)\s+(?:alignas\([^)]*\)\s+)?(\w+(?:::\w+)*)(?:\s+final)?\s*(?::[^:;][^;]*)?\{")
FOLDERS = ("include", "src", "cli", "tests", "bench")
INTERNAL = ("src/passes", "src/schedule", "src/native", "src/codegen", "src/runtime", "src/compiler", "src/onnx",
            "src/report", "src/train", "src/partition", "src/tensor", "cli")
PUBLIC = re.compile(r"tenon::\w+")  # no more than that: a type within a type is its owner's


def types(path):
    """(line, qualified name) of each type that is defined at the level of a namespace."""
    spaces = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if found := NAMESPACE.match(line):
            spaces.append(found.group(1) or None)
        elif END.match(line) and spaces:
            spaces.pop()
        elif (found := TYPE.match(line)) and None not in spaces and spaces:
            yield number, "::".join([*spaces, found.group(1)])


def strange_namespaces(path):
    """(line, namespace) of each outermost namespace of a test that is not the test's own."""
    depth = 0
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if found := NAMESPACE.match(line):
            if depth == 0 and found.group(1).rpartition("::")[2] != path.stem:
                yield number, found.group(1)
            depth += 1
        elif END.match(line):
            depth -= 1


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    first = {}
    failed = False
    for path in sorted(p for folder in FOLDERS for p in (root / folder).rglob("*") if p.suffix in (".h", ".cpp")):
        for line, name in types(path):
            place = f"{path.relative_to(root)}:{line}"
            if name in first:
                print(f"{place}: {name} is another type already, in {first[name]}: rename one")
                failed = True
            first.setdefault(name, place)
            if PUBLIC.fullmatch(name) and path.relative_to(root).as_posix().startswith(tuple(f + "/" for f in INTERNAL)):
                print(f"{place}: {name}: internal names stay out of the namespace that users see")
                failed = True
    for path in sorted((root / "tests").glob("*/*_test.cpp")):
        for line, name in strange_namespaces(path):
            own = f"{name}::{path.stem}" if name else f"tenon::{path.stem}"
            print(f"{path.relative_to(root)}:{line}: a test has a namespace of its own: {own}")
            failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
