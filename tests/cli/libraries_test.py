"""The command `tenon` computes with its own code: no library of linear algebra or of neural networks is linked into it."""

import os
import re
import shutil
import subprocess
import unittest

FOREIGN = re.compile(r"blas|lapack|mkl|dnnl|onednn|eigen|atlas|openvino|xnnpack|onnxruntime|torch", re.IGNORECASE)


class Libraries(unittest.TestCase):
    @unittest.skipUnless(shutil.which("ldd"), "there is no ldd")
    def test_none_that_multiplies(self):
        run = subprocess.run(["ldd", os.environ["TENON_COMMAND"]], capture_output=True, text=True, check=True)
        libraries = [line.split()[0] for line in run.stdout.splitlines()]
        self.assertTrue(any(name.startswith("libc.") for name in libraries), run.stdout)
        self.assertEqual([name for name in libraries if FOREIGN.search(os.path.basename(name))], [])


if __name__ == "__main__":
    unittest.main()
