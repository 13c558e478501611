"""Files stay short and folders small.

A folder of src/ holds at most MOST_FILES files directly, its README not counted; a source, header or script has
at most MOST_LINES lines. What is larger is two things: two files, or rooms in the folder.

usage: check_sizes.py [ROOT]
Prints PATH: MESSAGE for each that is larger; the status is then 1.
"""
import pathlib
import sys

MOST_FILES = 40
MOST_LINES = 400
SOURCES = ("src", "include", "cli", "bench", "tests", "fuzz", "examples", "python", "tools")
SUFFIXES = (".h", ".cpp", ".py")


def large_folders(root):
    """(folder, number of files) of each folder of src/ with too many."""
    for folder in sorted({path.parent for path in (root / "src").rglob("*") if path.is_file()}):
        files = [path for path in folder.iterdir() if path.is_file() and path.name != "README.md"]
        if len(files) > MOST_FILES:
            yield folder, len(files)


def long_files(root):
    """(file, number of lines) of each source, header and script with too many."""
    for path in sorted(path for folder in SOURCES for path in (root / folder).rglob("*")):
        if path.suffix in SUFFIXES and path.is_file():
            lines = len(path.read_text(encoding="utf-8").splitlines())
            if lines > MOST_LINES:
                yield path, lines


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    found = [f"{folder.relative_to(root).as_posix()}: {count} files, more than {MOST_FILES}: give it rooms"
             for folder, count in large_folders(root)]
    found += [f"{path.relative_to(root).as_posix()}: {lines} lines, more than {MOST_LINES}: it is two concepts"
              for path, lines in long_files(root)]
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
