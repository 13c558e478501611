"""A file includes the standard header of what it calls: algorithms, sums, moves of bytes, functions of numbers.

Which other headers include these differs between compilers and their versions, so that a source compiles with one and
not with another. A source may leave to the header of its own name what that one includes. Containers and strings do not
count: they come with the types that a file is about.

Every file gets what it names of the standard library and of {fmt}, types too, by what it includes itself or by headers
of ours that it includes: builds precompile such headers and do not see what is missing. In a header of ours no name may
be unknown here. (tools/check_headers.py asks the compiler about all other names of headers.)

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
    "cmath": "acos atan cbrt ceil copysign cos erf erfc exp exp2 expm1 fabs floor fma fmod frexp hypot ilogb isfinite isinf"
             " isnan ldexp lgamma log log10 log1p log2 lround llround nearbyint nextafter pow remainder rint round signbit"
             " sin sqrt tan tanh tgamma trunc",
    "cstring": "memchr memcmp memcpy memmove memset strchr strcmp strerror strlen strncmp",
    "limits": "numeric_limits",
    "numeric": "accumulate exclusive_scan gcd inclusive_scan inner_product iota lcm midpoint partial_sum reduce"
               " transform_reduce",
}
HEADER = {name: header for header, names in NAMES.items() for name in names.split()}
# What files name besides: any of these headers has it. A name in a header that no list has is reported, so that none
# goes unseen.
SIZES = "cstddef string string_view memory functional span optional algorithm cmath filesystem atomic chrono"
RANGES = "iterator array list map set span string string_view unordered_map unordered_set vector"
TYPES = {
    "array": "array",
    "bit": "endian",
    "atomic": "atomic atomic_ref memory_order_acq_rel memory_order_acquire memory_order_relaxed memory_order_release",
    "cmath": "atan2",
    "compare": "partial_ordering strong_ordering weak_ordering",
    "concepts": "floating_point integral invocable same_as",
    "condition_variable": "condition_variable",
    "cstddef": "byte max_align_t",
    "cstdio": "FILE",
    "cstdlib": "abort exit getenv",
    "iostream": "cerr cout",
    "cstdint": "int16_t int32_t int64_t int8_t uint16_t uint32_t uint64_t uint8_t uintptr_t",
    "any": "any any_cast",
    "deque": "deque",
    "exception": "current_exception exception exception_ptr rethrow_exception",
    "exception stdexcept": "runtime_error",
    "functional": "function greater plus reference_wrapper",
    "functional " + RANGES: "less",  # the order of sets and maps
    "functional memory optional string string_view variant": "hash",
    "initializer_list " + RANGES: "initializer_list",
    "iosfwd ostream iostream string": "ostream",
    "list": "list",
    "map": "map multimap",
    "memory": "enable_shared_from_this make_shared make_unique shared_ptr static_pointer_cast unique_ptr weak_ptr",
    "mutex": "lock_guard mutex once_flag recursive_mutex scoped_lock unique_lock",
    "new": "align_val_t bad_alloc",
    "optional": "make_optional nullopt nullopt_t optional",
    "random": "mt19937 mt19937_64 normal_distribution uniform_int_distribution uniform_real_distribution",
    "ratio chrono": "micro milli nano",
    "set": "multiset set",
    "source_location": "source_location",
    "span": "as_bytes span",
    "string": "string to_string",
    "string_view string": "string_view",
    "thread": "thread",
    "tuple": "apply make_tuple tie tuple",
    "tuple array utility variant map unordered_map": "get",
    "type_traits concepts functional memory optional tuple utility variant":
        "conditional_t decay_t enable_if_t false_type invoke_result_t is_arithmetic_v is_base_of_v is_convertible_v is_enum_v"
        " is_floating_point_v is_integral_v is_invocable_v is_same_v is_signed_v remove_cvref_t remove_pointer_t true_type"
        " underlying_type_t",
    "unordered_map": "unordered_map unordered_multimap",
    "unordered_set": "unordered_set",
    "utility": "exchange in_range index_sequence index_sequence_for make_index_sequence",
    "utility algorithm functional map memory optional string tuple unordered_map variant vector": "forward move swap",
    "utility map unordered_map tuple algorithm functional memory vector string": "make_pair pair",
    "utility optional variant": "in_place in_place_index in_place_t in_place_type",
    "variant": "get_if holds_alternative monostate variant variant_alternative_t variant_size_v visit",
    "vector": "vector",
    RANGES: "back_inserter begin data empty end size ssize",
    SIZES: "ptrdiff_t size_t",
}
PROVIDERS = {name: set(headers.split()) for headers, names in TYPES.items() for name in names.split()}
OF_C = {"stddef.h": "cstddef", "stdint.h": "cstdint"}
OF_NAMESPACES = {"chrono": {"chrono"}, "filesystem": {"filesystem"}, "fmt": {"fmt/format.h", "fmt/ranges.h"}}
NAMED = re.compile(r"(?<![\w:])(?:(?:std::)?(chrono|filesystem|fmt)|std(?:::ranges)?)::(\w+)"
                   r"|(?<![\w:.])(u?int(?:8|16|32|64|ptr)_t|size_t|ptrdiff_t)\b")
OURS = re.compile(r'#include ["<]([^">]+)[">]')
CALL = re.compile(r"\bstd::(?:ranges::)?(" + "|".join(HEADER) + r")\s*[(<]")
INCLUDE = re.compile(r"#include <([\w/.]+)>")
NOT_CODE = re.compile(r'//.*|"(?:[^"\\]|\\.)*"')


def includes(path):
    """C's headers, which those for C include, count as C++'s."""
    names = INCLUDE.findall(path.read_text()) if path.exists() else []
    return {OF_C.get(name, name) for name in names}


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


class Includes:
    """Which headers of others a file gets."""

    def __init__(self, root):
        self.root = root
        self.known = {}

    def find(self, name, path):
        """The file of ours that `path` includes by `name`."""
        tops = [*(self.root / top for top in ("include", "src", "tests", "bench", "cli", "python/src", "")), path.parent]
        return next((top / name for top in tops if (top / name).is_file()), None)

    def of(self, path):
        """The headers that `path` includes, itself or by headers of ours."""
        if path not in self.known:
            self.known[path] = set()  # while it is looked at: headers may include each other
            found = includes(path)
            for name in OURS.findall(path.read_text()):
                if each := self.find(name, path):
                    found |= self.of(each)
            self.known[path] = found
        return self.known[path]

    def missing(self, path):
        """(line, name, what to do) of each name that `path` has no header for."""
        have, told = self.of(path), set()
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if line.startswith("#include"):
                continue
            for space, qualified, plain in NAMED.findall(NOT_CODE.sub("", line)):
                name = qualified or plain
                providers = OF_NAMESPACES[space] if space else PROVIDERS.get(name)
                if name in told or (not space and name in HEADER) or (providers and providers & have):
                    continue
                if not providers and path.suffix == ".cpp":
                    continue
                told.add(name)
                header = min(providers) if space else first_header(name) if providers else ""
                yield number, f"{space or 'std'}::{name}" if qualified else name, (
                    f"include <{header}>, here or by a header of ours" if header else
                    "tools/check_includes.py does not know its header: add it to TYPES")


def first_header(name):
    """The one to include of those that have a name."""
    return next(headers.split()[0] for headers, names in TYPES.items() if name in names.split())


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    failed = False
    all_includes = Includes(root)
    for path in sorted(p for folder in FOLDERS for p in (root / folder).rglob("*") if p.suffix in (".h", ".cpp")):
        for line, name, header in missing(path, root):
            print(f"{path.relative_to(root)}:{line}: std::{name}: include <{header}>")
            failed = True
        for line, name, advice in all_includes.missing(path):
            print(f"{path.relative_to(root)}:{line}: {name}: {advice}")
            failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
