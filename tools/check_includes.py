"""A file includes the standard header of what it calls: algorithms, sums, moves of bytes, functions of numbers.

Which other headers include these differs between compilers and their versions, so that a source compiles with one and
not with another. A source may leave to the header of its own name what that one includes. Containers and strings do not
count: they come with the types that a file is about.

usage: check_includes.py [ROOT]
Prints PATH:LINE: MESSAGE for each header that is missing; the status is then 1.
"""
import pathlib
import re
import sys

FOLDERS = ("include", "src", "cli", "tests", "bench", "fuzz", "examples", "python/src")
NAMES = {
    "algorithm": "adjacent_find all_of any_of binary_search clamp copy copy_backward copy_if copy_n count count_if equal"
                 " equal_range fill fill_n find find_end find_if find_if_not for_each generate generate_n includes"
                 " is_permutation is_sorted lexicographical_compare lower_bound max max_element merge min min_element"
                 " minmax minmax_element mismatch next_permutation none_of nth_element partial_sort partition"
                 " partition_point remove remove_copy_if remove_if replace replace_if reverse reverse_copy rotate search"
                 " set_difference set_intersection set_union shuffle sort stable_partition stable_sort swap_ranges"
                 " transform unique upper_bound",
    "bit": "bit_cast bit_ceil bit_floor bit_width countl_zero countr_one countr_zero has_single_bit popcount rotl",
    "cmath": "acos atan cbrt ceil copysign cos erf erfc exp exp2 expm1 fabs floor fma fmod frexp hypot isfinite isinf"
             " isnan ldexp lgamma log log10 log1p log2 lround llround nearbyint nextafter pow remainder rint round signbit"
             " sin sqrt tan tanh tgamma trunc",
    "cstring": "memchr memcmp memcpy memmove memset strchr strcmp strerror strlen strncmp",
    "limits": "numeric_limits",
    "numeric": "accumulate exclusive_scan gcd inclusive_scan inner_product iota lcm midpoint partial_sum reduce"
               " transform_reduce",
}
HEADER = {name: header for header, names in NAMES.items() for name in names.split()}
CALL = re.compile(r"\bstd::(?:ranges::)?(" + "|".join(HEADER) + r")\s*[(<]")
INCLUDE = re.compile(r"#include <(\w+)>")
NOT_CODE = re.compile(r'//.*|"(?:[^"\\]|\\.)*"')


def includes(path):
    return set(INCLUDE.findall(path.read_text())) if path.exists() else set()


def own_header(path, root):
    """The header that a source implements: the first that it includes, if that has its name."""
    found = re.search(r'#include "([^"]+)"', path.read_text())
    if path.suffix != ".cpp" or not found or pathlib.PurePath(found.group(1)).stem != path.stem:
        return set()
    return set().union(*(includes(root / folder / found.group(1)) for folder in (*FOLDERS, "")))


def missing(path, root):
    """(line, name, header) of the first call for each header that is not included."""
    have = includes(path) | own_header(path, root)
    for number, line in enumerate(path.read_text().splitlines(), 1):
        for name in CALL.findall(NOT_CODE.sub("", line)):
            if HEADER[name] not in have:
                have.add(HEADER[name])
                yield number, name, HEADER[name]


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    failed = False
    for path in sorted(p for folder in FOLDERS for p in (root / folder).rglob("*") if p.suffix in (".h", ".cpp")):
        for line, name, header in missing(path, root):
            print(f"{path.relative_to(root)}:{line}: std::{name}: include <{header}>")
            failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
