"""tools/check_includes.py on small trees: what it accepts, and that it can fail."""
import functools
import unittest

import small_tree

check = functools.partial(small_tree.check, "check_includes.py")


class CheckIncludes(unittest.TestCase):
    def test_the_first_call_for_each_header(self):
        status, text = check({"src/a/part.cpp": "#include <vector>\nint f() { return std::max(1, 2); }\n"
                                                "bool g() { return std::ranges::find(x, 1) != std::isnan(y); }\n"})
        self.assertEqual(status, 1)
        self.assertEqual(text, "src/a/part.cpp:2: std::max: include <algorithm>\n"
                               "src/a/part.cpp:3: std::isnan: include <cmath>\n")

    def test_its_own_header_may_include_it(self):
        source = '#include "a/part.h"\nint f() { return std::max(1, 2); }\n'
        self.assertEqual(check({"src/a/part.cpp": source, "src/a/part.h": "#include <algorithm>\n"}), (0, ""))
        self.assertEqual(check({"src/a/part.cpp": source, "src/a/part.h": "#include <vector>\n"})[0], 1)
        other = source.replace("part.h", "other.h")
        self.assertEqual(check({"src/a/part.cpp": other, "src/a/other.h": "#include <algorithm>\n"})[0], 1)

    def test_the_headers_of_c_name_the_same(self):
        self.assertEqual(check({"include/a/c.h": "#include <stdint.h>\nint64_t f(void);\n"}), (0, ""))
        self.assertEqual(check({"include/a/c.h": "#include <stddef.h>\nint64_t f(void);\n"})[0], 1)

    def test_comments_texts_and_other_names(self):
        self.assertEqual(check({"src/part.cpp": '// std::max(1, 2)\nauto a = "std::max(1, 2)";\nauto b = other::max(1, 2);\n'
                                              "#include <cstddef>\nstd::copyable auto c = std::max_align_t();\n"}), (0, ""))

    def test_headers_get_what_they_name(self):
        files = {
            "src/a/types.h": "#include <cstdint>\n#include <vector>\nusing Sizes = std::vector<int64_t>;\n",
            "src/a/sizes.h": '#include "a/types.h"\nstd::vector<uint8_t> bytes(const Sizes& sizes);  // std::map\n',
        }
        self.assertEqual(check(files), (0, ""))
        status, text = check({**files, "include/tenon/b.h": '#include "a/sizes.h"\nsize_t b(std::optional<int64_t>);\n'
                                                            "std::mdspan<int> c();\n"})
        self.assertEqual(status, 1)
        self.assertEqual(text, "include/tenon/b.h:2: size_t: include <cstddef>, here or by a header of ours\n"
                               "include/tenon/b.h:2: std::optional: include <optional>, here or by a header of ours\n"
                               "include/tenon/b.h:3: std::mdspan: tools/check_includes.py does not know its "
                               "header: add it to TYPES\n")


if __name__ == "__main__":
    unittest.main()
