"""Each type of a namespace is defined once.

Two types of one name and namespace are undefined behaviour, even where no file sees both: the linker keeps one copy of
what templates such as std::vector make of them. Anonymous namespaces of sources do not count.

usage: check_types.py [ROOT]
Prints PATH:LINE: MESSAGE for each type that is defined again; the status is then 1.
"""
import pathlib
import re
import sys

NAMESPACE = re.compile(r"namespace\s*([\w:]*)\s*\{\s*(//.*)?$")
END = re.compile(r"\}\s*//\s*namespace")
TYPE = re.compile(r"(?:struct|class|union|enum class)\s+(?:alignas\([^)]*\)\s+)?(\w+(?:::\w+)*)(?:\s+final)?\s*(?::[^:;][^;]*)?\{")
FOLDERS = ("include", "src", "cli", "tests", "bench")


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
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
