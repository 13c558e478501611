"""tools/check_types.py on small trees: what it accepts, and that it can fail."""
import functools
import unittest

import small_tree

check = functools.partial(small_tree.check, "check_types.py")


class CheckTypes(unittest.TestCase):
    def test_two_types_of_one_name(self):
        status, text = check({
            "src/a/part.h": "namespace tenon {\n\nstruct Part {\n  int x;\n};\n\n}  // namespace tenon\n",
            "src/b/part.h": "namespace tenon {\nclass Part : public Base {\n};\n}  // namespace tenon\n",
        })
        self.assertEqual(status, 1)
        self.assertEqual(text, "src/b/part.h:2: tenon::Part is another type already, in src/a/part.h:3: rename one\n")

    def test_other_namespaces_and_parts_of_types(self):
        status, text = check({
            "src/a.h": "namespace tenon {\nstruct Part {\n};\nstruct Part;\n}  // namespace tenon\n",
            "src/a.cpp": "namespace tenon {\nnamespace {\nstruct Part {\n};\n}  // namespace\nstruct Part::Inner {\n};\n}  // namespace tenon\n",
            "src/b.h": "namespace tenon::loops {\nstruct Part {\n};\n}  // namespace tenon::loops\n",
        })
        self.assertEqual((status, text), (0, ""))

    def test_internal_types_stay_out_of_the_users_namespace(self):
        part = "{} {{\nstruct Part {{\n}};\n}}  // {}\n"
        public, own = "namespace tenon", "namespace tenon::schedule"
        for folder in ("src/passes", "src/schedule/nest", "src/codegen", "src/runtime", "src/compiler", "src/onnx", "cli"):
            status, text = check({f"{folder}/part.h": part.format(public, public)})
            self.assertEqual(status, 1)
            self.assertEqual(text, f"{folder}/part.h:2: tenon::Part: internal names stay out of the namespace that users see\n")
            self.assertEqual(check({f"{folder}/part.h": part.format(own, own)}), (0, ""))
        self.assertEqual(check({"include/tenon/part.h": part.format(public, public)}), (0, ""))

    def test_insides_of_public_types(self):
        state = "namespace tenon {\nstruct Executable::State {\n};\n}  // namespace tenon\n"
        self.assertEqual(check({"src/runtime/executable.cpp": state}), (0, ""))

    def test_tests_have_namespaces_of_their_own(self):
        test = "namespace {0} {{\nnamespace {{\nstruct Case {{\n}};\n}}  // namespace\n}}  // namespace {0}\n"
        self.assertEqual(check({"tests/a/sum_test.cpp": test.format("tenon::loops::sum_test"),
                                "tests/a/cut_test.cpp": test.format("tenon::cut_test"),
                                "tests/support/cut.cpp": test.format("tenon")}), (0, ""))
        status, text = check({"tests/a/sum_test.cpp": test.format("tenon::loops"),
                              "tests/b/cut_test.cpp": "namespace {\n}  // namespace\n"})
        self.assertEqual(status, 1)
        self.assertEqual(text, "tests/a/sum_test.cpp:1: a test has a namespace of its own: tenon::loops::sum_test\n"
                               "tests/b/cut_test.cpp:1: a test has a namespace of its own: tenon::cut_test\n")


if __name__ == "__main__":
    unittest.main()
