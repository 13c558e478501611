"""tools/check_sizes.py on small trees: what it accepts, and that each rule can fail."""
import unittest

import small_tree


def check(files):
    """Run the check on a tree of {path: number of lines}; (status, output lines)."""
    status, output = small_tree.check("check_sizes.py", {name: "\n" * lines for name, lines in files.items()})
    return status, output.splitlines()


class CheckSizes(unittest.TestCase):
    def test_what_is_as_large_as_it_may_be(self):
        full = {f"src/plan/file{number}.h": 1 for number in range(40)}
        self.assertEqual(check({**full, "src/plan/README.md": 500, "src/plan/room/one.h": 1, "src/a.cpp": 400}), (0, []))

    def test_many_files(self):
        self.assertEqual(check({f"src/plan/nest/file{number}.h": 1 for number in range(41)}),
                         (1, ["src/plan/nest: 41 files, more than 40: give it rooms"]))

    def test_long_files(self):
        names = ["src/a/long.cpp", "include/tenon/long.h", "cli/long.cpp", "bench/long.py", "tests/a/long.h",
                 "fuzz/long.cpp", "examples/long.cpp", "python/tests/long.py", "tools/long.py"]
        self.assertEqual(check({**dict.fromkeys(names, 401), "docs/long.md": 401, "src/a/long.md": 401}),
                         (1, [f"{name}: 401 lines, more than 400: it is two concepts" for name in sorted(names)]))


if __name__ == "__main__":
    unittest.main()
