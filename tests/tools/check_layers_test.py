"""tools/check_layers.py on small trees: what it accepts, and that each rule can fail."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "tools/check_layers.py"

LAYERS = """
tenon_layer(base)
tenon_layer(shape      DEPS base)
tenon_layer(kernel     DEPS shape)
tenon_layer(ir         DEPS kernel)
tenon_layer(ops_scalar DEPS kernel DIR ops ONLY scalar/*.cpp)
tenon_layer(ops        DEPS ir ops_scalar EXCEPT scalar/*.cpp tools/*.cpp
                       ROOMS scalar . builders gradient:. tools:scalar)
tenon_layer(text       DEPS ops)
tenon_layer(interp     DEPS ops)
tenon_layer(codegen    DEPS kernel)
tenon_layer(runtime    DEPS kernel ROOMS memory plan)
tenon_generate_header(tenon/elementwise.h BY src/ops/tools/gen_elementwise.cpp USING ops_scalar FOR ops)
"""


def check(files, layers=LAYERS):
    """Run the check on a tree of {path: text}; (status, output lines)."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "include/tenon").mkdir(parents=True)
        (root / "CMakeLists.txt").write_text(layers)
        for name, text in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        run = subprocess.run([sys.executable, "-B", SCRIPT, root], capture_output=True, text=True)
        return run.returncode, (run.stdout + run.stderr).splitlines()


class CheckLayers(unittest.TestCase):
    def accepts(self, files):
        self.assertEqual(check(files), (0, []))

    def rejects(self, files, *lines):
        self.assertEqual(check(files), (1, list(lines)))

    def test_downward_includes(self):
        self.accepts({
            "src/ir/node.h": '#include <fmt/format.h>\n#include "base/hash.h"\n#include "ir/kind.h"\n',
            "src/ops/tools/gen.cpp": '#include "kernel/expr.h"\n#include "tenon/graph.h"\n',
            "src/ops/map.cpp": '#include "tenon/elementwise.h"\n',
            "include/tenon/graph.h": '#include <string>\n#include "tenon/shape.h"\n',
            "include/tenon/tenon.h": '#include "tenon/elementwise.h"\n#include "tenon/graph.h"\n',
        })

    def test_upward_include(self):
        self.rejects({"src/ir/node.h": '#pragma once\n\n#include "text/print.h"\n'},
                     "src/ir/node.h:3: ir must not include text/print.h (ir sees base, shape, kernel)")

    def test_headers_for_c(self):
        layers = LAYERS + "tenon_layer(capi DEPS runtime)\n"
        umbrella = {"include/tenon/tenon.h": '#include "tenon/elementwise.h"\n'}  # without c.h
        self.assertEqual(check({"include/tenon/c.h": "#include <stdint.h>\n", **umbrella}, layers), (0, []))
        wrong = {"include/tenon/c.h": "#include <fmt/format.h>\n", **umbrella}
        self.assertEqual(check(wrong, layers), (1, ["include/tenon/c.h:1: a public header must not include "
                                                    "<fmt/format.h>: tenon/ and standard headers only"]))

    def test_rooms_see_those_before_them(self):
        self.accepts({
            "src/runtime/plan/layout.cpp": '#include "runtime/memory/arena.h"\n#include "runtime/plan/plan.h"\n',
            "src/runtime/engine.cpp": '#include "runtime/plan/plan.h"\n#include "kernel/abi.h"\n',
            "src/ops/builders/pool.cpp": '#include "ops/make.h"\n#include "ops/scalar/table.h"\n',
            "src/ops/gradient/map.cpp": '#include "ops/make.h"\n#include "ops/scalar/table.h"\n',
        })

    def test_rooms_do_not_see_those_after_them(self):
        self.rejects({"src/runtime/memory/arena.h": '#include "runtime/plan/plan.h"\n',
                      "src/runtime/plan/plan.h": '#include "runtime/engine.h"\n',
                      "src/ops/make.cpp": '#include "ops/builders/pool.h"\n',
                      "src/ops/gradient/map.cpp": '#include "ops/builders/pool.h"\n'},
                     "src/ops/gradient/map.cpp:1: ops/gradient must not include ops/builders/pool.h: "
                     "that room is not one that it sees",
                     "src/ops/make.cpp:1: what is directly in ops must not include ops/builders/pool.h: "
                     "that room is not one that it sees",
                     "src/runtime/memory/arena.h:1: runtime/memory must not include runtime/plan/plan.h: "
                     "that room is not one that it sees",
                     "src/runtime/plan/plan.h:1: runtime/plan must not include runtime/engine.h: "
                     "that room is not one that it sees")

    def test_unknown_room(self):
        self.rejects({"src/runtime/cellar/wine.h": ""},
                     "src/runtime/cellar/wine.h:1: src/runtime/cellar is not a room: add it to ROOMS of runtime in "
                     "CMakeLists.txt")

    def test_base_sees_nothing(self):
        self.rejects({"src/base/hash.h": '#include "shape/extent.h"\n'},
                     "src/base/hash.h:1: base must not include shape/extent.h (base sees no other layer)")

    def test_codegen_and_runtime_are_strangers(self):
        self.rejects({"src/codegen/emit.cpp": '#include "runtime/step.h"\n',
                      "src/runtime/step.cpp": '#  include "codegen/emit.h"\n'},
                     "src/codegen/emit.cpp:1: codegen must not include runtime/step.h "
                     "(codegen sees base, shape, kernel)",
                     "src/runtime/step.cpp:1: runtime must not include codegen/emit.h "
                     "(runtime sees base, shape, kernel)")

    def test_public_header_of_a_higher_layer(self):
        self.rejects({"src/shape/extent.cpp": '#include "tenon/graph.h"\n'},
                     "src/shape/extent.cpp:1: shape must not include tenon/graph.h, which belongs to ir "
                     "(shape sees base)")
        self.rejects({"include/tenon/shape.h": '#include "tenon/graph.h"\n'},
                     "include/tenon/shape.h:1: shape must not include tenon/graph.h, which belongs to ir "
                     "(shape sees base)")

    def test_umbrella_inside_the_library(self):
        self.rejects({"src/ir/node.cpp": '#include "tenon/tenon.h"\n'},
                     "src/ir/node.cpp:1: ir must not include tenon/tenon.h: name the header that is needed")

    def test_umbrella_has_every_public_header(self):
        self.rejects({"include/tenon/tenon.h": '#include "tenon/graph.h"\n',
                      "include/tenon/graph.h": "", "include/tenon/text.h": ""},
                     "include/tenon/tenon.h:1: tenon/tenon.h lacks tenon/elementwise.h: it includes every public header",
                     "include/tenon/tenon.h:1: tenon/tenon.h lacks tenon/text.h: it includes every public header")

    def test_unlisted_public_header(self):
        self.rejects({"include/tenon/novel.h": "\n"},
                     "include/tenon/novel.h:1: tenon/novel.h has no layer: "
                     "add it to PUBLIC_HEADERS in tools/check_layers.py")

    def test_public_header_with_foreign_includes(self):
        self.rejects({"include/tenon/graph.h":
                      '#include <fmt/format.h>\n#include "base/hash.h"\n#include <stdint.h>\n'},
                     "include/tenon/graph.h:1: a public header must not include <fmt/format.h>: "
                     "tenon/ and standard headers only",
                     "include/tenon/graph.h:2: a public header must not include base/hash.h: "
                     "tenon/ and standard headers only",
                     "include/tenon/graph.h:3: a public header must not include <stdint.h>: "
                     "tenon/ and standard headers only")

    def test_spelling(self):
        self.rejects({"src/ir/node.cpp": '#include "node.h"\n#include "../base/hash.h"\n#include <base/hash.h>\n'},
                     "src/ir/node.cpp:1: node.h: includes are written folder/file.h, from src/ or include/",
                     "src/ir/node.cpp:2: ../base/hash.h: includes are written folder/file.h, from src/ or include/",
                     'src/ir/node.cpp:3: <base/hash.h>: our own headers are included as "base/hash.h"')

    def test_unknown_folder(self):
        self.rejects({"src/attic/old.h": "\n"},
                     "src/attic/old.h:1: src/attic is not a layer: add it to the table in CMakeLists.txt")

    def test_table_out_of_order(self):
        status, lines = check({}, "tenon_layer(base DEPS shape)\ntenon_layer(shape)\n")
        self.assertEqual(status, 1)
        self.assertEqual(lines, ["CMakeLists.txt: layer base names shape, which is not declared above it"])

    def test_the_real_table(self):
        status, lines = check({"src/ir/node.h": '#include "text/print.h"\n'}, (ROOT / "CMakeLists.txt").read_text())
        self.assertEqual((status, len(lines)), (1, 1))

    def test_what_runs_programs_does_not_see_the_interpreter(self):
        table = (ROOT / "CMakeLists.txt").read_text()
        for layer in ("kernel", "library", "schedule", "codegen", "runtime"):
            status, lines = check({f"src/{layer}/step.cpp": '#include "interp/evaluate.h"\n'}, table)
            self.assertEqual((status, len(lines)), (1, 1), layer)


if __name__ == "__main__":
    unittest.main()
