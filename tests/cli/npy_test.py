"""Files of NumPy as inputs and outputs of `tenon run`: every dtype, both orders, and files that are broken."""

import os
import struct
import subprocess
import tempfile
import unittest
from pathlib import Path

COMMAND = os.environ["TENON_COMMAND"]
# Tenon's dtype, NumPy's, and how Python packs an element.
TYPES = [("f32", "<f4", "f"), ("f64", "<f8", "d"), ("f16", "<f2", "e"), ("i8", "|i1", "b"), ("i16", "<i2", "h"),
         ("i32", "<i4", "i"), ("i64", "<i8", "q"), ("u8", "|u1", "B"), ("u16", "<u2", "H"), ("u32", "<u4", "I"),
         ("u64", "<u8", "Q"), ("bool", "|b1", "?")]


def npy(descr, shape, data, order="False", version=1, header=None):
    header = header or f"{{'descr': {descr!r}, 'fortran_order': {order}, 'shape': {shape}, }}\n"
    length = struct.pack("<H" if version == 1 else "<I", len(header))
    return b"\x93NUMPY" + bytes([version, 0]) + length + header.encode() + data


class Npy(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def run_identity(self, dtype, content, axes="a, b"):
        (self.folder / "f.graph").write_text(f"graph f(x: {dtype}[{axes}]) {{\n  return y=x\n}}\n")
        (self.folder / "x.npy").write_bytes(content)
        return subprocess.run([COMMAND, "run", self.folder / "f.graph", "--input", f"x={self.folder}/x.npy", "--output",
                               self.folder], capture_output=True, text=True, check=False)

    def gives(self, dtype, content, expected, axes="a, b"):
        run = self.run_identity(dtype, content, axes)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertEqual((self.folder / "y.npy").read_bytes()[-len(expected):] if expected else b"", expected)

    def refuses(self, content, *parts, dtype="f32"):
        run = self.run_identity(dtype, content)
        self.assertEqual((run.returncode, run.stdout), (1, ""), run.stderr)
        self.assertEqual(run.stderr.count("\n"), 1, run.stderr)
        for part in ["x.npy: ", *parts]:
            self.assertIn(part, run.stderr)

    def test_every_dtype_in_both_orders(self):
        for dtype, descr, code in TYPES:
            values = [1, 0, 1, 1, 0, 0] if dtype == "bool" else [1, 2, 3, 4, 5, 100]
            data = struct.pack(f"<6{code}", *values)
            self.gives(dtype, npy(descr, "(2, 3)", data), data)
            columns = struct.pack(f"<6{code}", *[values[i] for i in (0, 3, 1, 4, 2, 5)])
            self.gives(dtype, npy(descr, "(2, 3)", columns, order="True"), data)

    def test_written_files_are_what_numpy_writes(self):
        data = struct.pack("<2f", 1, 2)
        self.gives("f32", npy("<f4", "(2,)", data), data, axes="a")
        written = (self.folder / "y.npy").read_bytes()
        self.assertEqual(written[:8], b"\x93NUMPY\x01\x00")
        self.assertEqual(len(written) - len(data), 128)
        self.assertIn(b"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", written)

    def test_three_axes_in_fortran_order(self):
        values = list(range(24))
        fortran = [i * 12 + j * 4 + k for k in range(4) for j in range(3) for i in range(2)]
        self.gives("i32", npy("<i4", "(2, 3, 4)", struct.pack("<24i", *fortran), order="True"),
                   struct.pack("<24i", *values), axes="a, b, c")

    def test_versions_and_no_elements(self):
        data = struct.pack("<f", 5)
        self.gives("f32", npy("<f4", "(1, 1)", data, version=2), data)
        self.gives("f32", npy("=f4", "(1, 1)", data, version=3), data)
        self.gives("f32", npy("<f4", "(0, 3)", b""), b"")

    def test_bf16_comes_and_goes_as_f32(self):
        data = struct.pack("<2f", 1.5, -2)
        self.gives("bf16", npy("<f4", "(1, 2)", data), data)

    def test_refuses_broken_files(self):
        data = struct.pack("<6f", *range(6))
        self.refuses(b"", "no .npy file")
        self.refuses(b"\x93NUMPY", "no .npy file")
        self.refuses(npy("<f4", "(2, 3)", data, version=9), "version 9")
        self.refuses(npy("<f4", "(2, 3)", data)[:40], "ends in the middle of its header")
        self.refuses(npy("<f4", "(2, 3)", data)[:-1], "23 bytes follow")
        self.refuses(npy("<f4", "(2, 3)", data + b"x"), "25 bytes follow")
        self.refuses(npy(">f4", "(2, 3)", data), "`>f4`", "little-endian")
        self.refuses(npy("<c8", "(1, 3)", data), "`<c8`")
        self.refuses(npy("|O", "(1, 3)", data), "`|O`")
        self.refuses(npy("", "", data, header="[('descr', '<f4')]\n"), "header is not what NumPy writes")
        self.refuses(npy("", "", data, header="{'descr': '<f4', 'fortran_order': False, 'shape': (-2, 3), }"), "header")
        self.refuses(npy("", "", data, header="{'descr': '<f4', 'fortran_order': Maybe, 'shape': (2, 3), }"), "header")
        self.refuses(npy("", "", data, header="{'descr': '<f4', 'shape': (2, 3), }"), "header")
        self.refuses(npy("", "", data, header="{'descr': '<f4', 'descr': '<f4', 'shape': (2, 3), }"), "one descr")
        self.refuses(npy("", "", data, header="{'descr': '<f4', 'shape': (9, 9), 'shape': (2, 3), 'fortran_order': False}"),
                     "one descr")
        self.refuses(npy("<f4", f"({2**62}, {2**62})", data), "24 bytes follow")
        self.refuses(npy("<f4", f"({2**80}, 3)", data), "header")
        self.refuses(b"\x93NUMPY\x02\x00\xff\xff\xff\xff", "a header of 4294967295 bytes")
        self.refuses(npy("|b1", "(1, 2)", b"\x01\x02"), "neither 0 nor 1", dtype="bool")

    def test_refuses_what_does_not_fit(self):
        data = struct.pack("<6f", *range(6))
        self.refuses(npy("<f4", "(2, 3)", data), "`x` is i32", "holds f32", dtype="i32")


if __name__ == "__main__":
    unittest.main()
