"""The C interface: the program interface.c, with the shared and with the static library, and by ctypes."""

import ctypes
import math
import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMMAND = Path(os.environ["TENON_COMMAND"]).resolve()
LIBRARIES = [path for name in ("libtenon_run.so", "libtenon.so") if (path := COMMAND.parent / name).exists()]


def is_sanitized():
    cache = (COMMAND.parent / "CMakeCache.txt").read_text()
    return re.search(r"^TENON_SANITIZE:STRING=.+", cache, re.MULTILINE) is not None


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("bytes", ctypes.c_size_t), ("dims", ctypes.POINTER(ctypes.c_int64)),
                ("rank", ctypes.c_int32), ("dtype", ctypes.c_int32)]


class Interface(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        for name in ("softmax", "selection"):
            subprocess.run([COMMAND, "build", ROOT / f"examples/{name}.graph", "-o", cls.folder / f"{name}.tenon"],
                           check=True, capture_output=True)

    def test_from_c(self):
        programs = sorted((COMMAND.parent / "tests").glob("c_interface*"))
        self.assertGreaterEqual(len(programs), 2)
        for program in programs:
            with self.subTest(program=program.name):
                words = [program, *(self.folder / name for name in ("softmax.tenon", "selection.tenon", "scratch"))]
                done = subprocess.run(words, capture_output=True, text=True)
                self.assertEqual((done.returncode, done.stderr, done.stdout), (0, "", "the C interface holds\n"))

    def test_by_ctypes(self):
        if is_sanitized():
            self.skipTest("the functions of sanitizers come from the program, which is Python here")
        for path in LIBRARIES:
            with self.subTest(library=path.name):
                self.run_softmax(ctypes.CDLL(str(path)), self.folder / "softmax.tenon")

    def run_softmax(self, library, path):
        library.tenon_error.restype = ctypes.c_char_p
        library.tenon_input_shape.restype = ctypes.c_char_p
        library.tenon_input_shape.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
        library.tenon_free.argtypes = [ctypes.c_void_p]
        model = ctypes.c_void_p()
        self.assertEqual(library.tenon_load(os.fsencode(path), 0, ctypes.byref(model)), 0)
        self.assertEqual(library.tenon_input_shape(model, 0), b"f32[row, col]")
        dims = (ctypes.c_int64 * 2)(2, 3)
        x = (ctypes.c_float * 6)(0, 0, 0, 1, 2, 3)
        y = (ctypes.c_float * 6)()
        tensors = [Tensor(ctypes.cast(each, ctypes.c_void_p), 24, dims, 2, 0) for each in (x, y)]
        run = [model, ctypes.byref(tensors[0]), ctypes.c_size_t(1), ctypes.byref(tensors[1]), ctypes.c_size_t(1), None]
        self.assertEqual(library.tenon_run(*run), 0, library.tenon_error())
        total = sum(math.exp(each) for each in (1, 2, 3))
        for got, expected in zip(y, [1 / 3] * 3 + [math.exp(each) / total for each in (1, 2, 3)]):
            self.assertAlmostEqual(got, expected, 6)
        tensors[0].rank = 1
        self.assertEqual(library.tenon_run(*run), 1)
        self.assertIn(b"rank", library.tenon_error())
        library.tenon_free(model)

    def test_the_example(self):
        graph = self.folder / "small.graph"
        graph.write_text("graph small(x: f32[batch, 3]) {\n  return y=concat(x, x, axis=1)\n}\n")
        program = self.folder / "small.tenon"
        subprocess.run([COMMAND, "build", graph, "-o", program], check=True, capture_output=True)
        example = COMMAND.parent / "examples/example_run_program"
        self.assertEqual(subprocess.run([example, program], check=True, capture_output=True, text=True).stdout,
                         "small.graph: f32[batch, 3] to f32[batch, 6]\n"
                         + "".join(f"batch {n} gives {6 * n} numbers, the first is 0.5\n" for n in (1, 2, 4)))
        wrong = subprocess.run([example, self.folder / "none.tenon"], capture_output=True, text=True)
        self.assertEqual((wrong.returncode, wrong.stdout), (1, ""))
        self.assertRegex(wrong.stderr, "^run_program: .*none.tenon.*\n$")

    def test_the_library_with_the_compiler_takes_onnx_models(self):
        if not (COMMAND.parent / "libtenon.so").exists():
            self.skipTest("built without ONNX")
        if is_sanitized():
            self.skipTest("the functions of sanitizers come from the program, which is Python here")
        path = self.folder / "softmax.onnx"
        subprocess.run([COMMAND, "export", ROOT / "examples/softmax.graph", path], check=True, capture_output=True)
        library = ctypes.CDLL(str(COMMAND.parent / "libtenon.so"))
        self.run_softmax(library, path)
        library.tenon_error.restype = ctypes.c_char_p
        path.write_bytes(path.read_bytes()[:-20])
        model = ctypes.c_void_p(1)
        self.assertEqual(library.tenon_load(os.fsencode(path), 0, ctypes.byref(model)), 2)
        self.assertIsNone(model.value)
        self.assertIn(b"softmax.onnx", library.tenon_error())

    def test_an_onnx_model_needs_the_compiler(self):
        if is_sanitized():
            self.skipTest("the functions of sanitizers come from the program, which is Python here")
        library = ctypes.CDLL(str(COMMAND.parent / "libtenon_run.so"))
        library.tenon_error.restype = ctypes.c_char_p
        path = self.folder / "model.onnx"
        path.write_bytes(b"\x08\x07")
        model = ctypes.c_void_p(1)
        self.assertEqual(library.tenon_load(os.fsencode(path), 0, ctypes.byref(model)), 2)
        self.assertIsNone(model.value)
        self.assertIn(b"model.onnx` is an ONNX model, and this library runs programs alone", library.tenon_error())


if __name__ == "__main__":
    unittest.main()
