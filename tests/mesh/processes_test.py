"""Meshes of processes: what `mpirun -n N tenon ... --mesh` gives, and how it ends when a rank cannot go on."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

COMMAND = Path(os.environ["TENON_COMMAND"])
MODULE = COMMAND.parent / "libtenon_mpi.so"
EXAMPLE = COMMAND.parent / "examples/example_mesh"
# Open MPI asks for these of root, and for --oversubscribe where there are fewer cores than ranks.
ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_btl_vader_single_copy_mechanism": "none"}
LIMIT = 120  # seconds


def start(ranks, *words, program=COMMAND):
    return subprocess.Popen(["mpirun", "-n", str(ranks), program, *words], env=ENVIRONMENT, text=True,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def run(ranks, *words, program=COMMAND):
    process = start(ranks, *words, program=program)
    out, err = process.communicate(timeout=LIMIT)
    return process.returncode, out, err


def children(parent):
    """The processes that `parent` started, by /proc."""
    found = []
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            lines = status.read_text(encoding="utf-8").splitlines()
        except OSError:
            continue  # it has ended meanwhile
        if f"PPid:\t{parent}" in lines:
            found.append(int(status.parent.name))
    return found


def is_running(process):
    """Not when it has ended and nobody has asked for its status yet."""
    try:
        return "State:\tZ" not in Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    except OSError:
        return False


@unittest.skipUnless(MODULE.exists() and shutil.which("mpirun"), "this build has no MPI, or there is no mpirun")
class Processes(unittest.TestCase):
    def test_outputs_are_those_of_one_process(self):
        for ranks, mesh, shard in ((2, "data=2", "batch=data"), (3, "m=3", "layers.0.weight.1=m"),
                                   (4, "data=2,model=2", "batch=data,layers.1.weight.0=model")):
            with self.subTest(mesh=mesh, shard=shard):
                status, out, err = run(ranks, "check", "mlp", "--mesh", mesh, "--shard", shard, "--bind", "batch=7",
                                       "--json")
                self.assertEqual(status, 0, err)
                self.assertTrue(json.loads(out)["ok"], out)

    @unittest.skipUnless(EXAMPLE.exists(), "the examples are not built")
    def test_a_program_in_cpp(self):
        for ranks, mesh in ((2, "model=2"), (4, "data=2,model=2")):
            with self.subTest(mesh=mesh):
                status, out, err = run(ranks, mesh, program=EXAMPLE)
                self.assertEqual(status, 0, err)
                self.assertEqual(out.count(f"{mesh}: rank 0 sent "), 1, out)
                self.assertEqual(out.count("all_reduce over model"), 1, out)

    def test_a_program_that_was_built(self):
        with tempfile.TemporaryDirectory() as folder:
            file = str(Path(folder) / "parts.tenon")
            built = subprocess.run([COMMAND, "build", "mlp", "--mesh", "data=2,model=2", "--shard",
                                    "batch=data,layers.0.weight.1=model,layers.1.weight.0=model", "-o", file],
                                   capture_output=True, text=True, timeout=LIMIT, check=False)
            self.assertEqual(built.returncode, 0, built.stderr)
            status, out, err = run(4, "check", file, "--bind", "batch=7", "--json")
            self.assertEqual(status, 0, err)
            self.assertTrue(json.loads(out)["ok"], out)
            status, out, err = run(4, "run", file, "--bind", "batch=64", "--json")
            self.assertEqual(status, 0, err)
            self.assertEqual(json.loads(out)["mesh"], "data=2,model=2")
            self.assertEqual(json.loads(out)["microseconds"]["compile"], 0)
            # As many ranks as the file's mesh has.
            status, _, err = run(2, "run", file)
            self.assertNotEqual(status, 0)
            self.assertEqual(err.count("the mesh data=2,model=2 has 4 ranks, and there are 2 of them"), 1, err)
            # A file that is not what was written ends all ranks with one error.
            damaged = bytearray(Path(file).read_bytes())
            damaged[-100] ^= 1
            Path(file).write_bytes(damaged)
            status, _, err = run(4, "run", file)
            self.assertNotEqual(status, 0)
            self.assertIn("is damaged: a constant", err)

    def test_stages_in_pieces(self):
        for ranks, words in ((3, ["--mesh", "pipe=3", "--pipeline", "pipe=4"]),
                             (4, ["--mesh", "pipe=2,data=2", "--pipeline", "pipe=3", "--shard", "batch=data"])):
            with self.subTest(words=words):
                status, out, err = run(ranks, "check", "mlp", *words, "--bind", "batch=7", "--json")
                self.assertEqual(status, 0, err)
                self.assertTrue(json.loads(out)["ok"], out)

    def test_only_the_first_rank_writes(self):
        with tempfile.TemporaryDirectory() as folder:
            status, out, err = run(2, "run", "small_cnn", "--mesh", "data=2", "--bind", "batch=4", "--json", "--output",
                                   folder)
            self.assertEqual(status, 0, err)
            self.assertEqual(json.loads(out)["mesh"], "data=2")
            self.assertEqual([path.name for path in Path(folder).iterdir()], ["logits.npy"])

    def test_a_trace_has_a_lane_for_each_rank(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "trace.json"
            status, _, err = run(2, "run", "mlp", "--mesh", "model=2", "--bind", "batch=64", "--shard",
                                 "layers.0.weight.1=model,layers.1.weight.0=model", "--trace", file)
            self.assertEqual(status, 0, err)
            events = json.loads(file.read_text(encoding="utf-8"))["traceEvents"]
            for rank in (1, 2):
                own = [event for event in events if event["pid"] == rank]
                self.assertTrue(any(event["ph"] == "X" and event["cat"].startswith("mlp") for event in own))
                begins = [event for event in own if event["ph"] == "b"]
                self.assertEqual([event["name"] for event in begins], ["all_reduce over model, 128.0 KiB"])
            # Ranks leave the exchange together, whatever their clocks were before.
            ends = [event["ts"] for event in events if event["ph"] == "e"]
            self.assertLess(abs(ends[0] - ends[1]), 1e6)

    def counted_bytes(self, ranks, repeat, folder, *words):
        """What MPI itself counts of all ranks, and what the command says that a rank sends in a run."""
        prefix = str(Path(folder) / f"count{repeat}")
        options = ["--mca", "pml_monitoring_enable", "1", "--mca", "pml_monitoring_enable_output", "3", "--mca",
                   "pml_monitoring_filename", prefix]
        done = subprocess.run(["mpirun", *options, "-n", str(ranks), COMMAND, "run", *words, "--repeat", str(repeat),
                               "--json"], env=ENVIRONMENT, capture_output=True, text=True, timeout=LIMIT, check=False)
        files = list(Path(folder).glob(f"count{repeat}.*"))
        if done.returncode != 0 or len(files) != ranks:
            self.skipTest("this MPI does not count messages")
        sent = 0
        for file in files:
            sent += sum(int(line.split()[3]) for line in file.read_text(encoding="utf-8").splitlines()
                        if line.startswith(("E\t", "I\t")))
        return sent, json.loads(done.stdout)["sent_bytes"]

    def test_bytes_are_those_of_the_formula(self):
        for ranks, weights in ((2, "layers.0.weight.1=m,layers.1.weight.0=m"), (4, "layers.0.weight.1=m,layers.1.weight.0=m"),
                               (4, "layers.0.weight.1=m,layers.1.weight.1=m")):
            with self.subTest(ranks=ranks, weights=weights), tempfile.TemporaryDirectory() as folder:
                words = ["mlp", "--mesh", f"m={ranks}", "--shard", weights, "--bind", "batch=512"]
                once, of_rank = self.counted_bytes(ranks, 1, folder, *words)
                often, _ = self.counted_bytes(ranks, 5, folder, *words)
                own = 8 * (ranks - 1)  # by which ranks compare sizes before each run
                self.assertEqual((often - once) / 4 / ranks, of_rank + own)

    def test_other_number_of_ranks(self):
        status, _, err = run(2, "run", "mlp", "--mesh", "data=3")
        self.assertNotEqual(status, 0)
        self.assertEqual(err.count("the mesh data=3 has 3 ranks, and there are 2 of them: `mpirun -n 3 tenon ...`"), 1)

    def test_an_error_of_all_is_told_once(self):
        status, _, err = run(3, "run", "mlp", "--mesh", "data=3", "--shard", "time=data")
        self.assertNotEqual(status, 0)
        self.assertEqual(err.count("tenon: rank 0 of the mesh: no input has an axis `time`"), 1, err)
        self.assertNotIn("rank 1 of the mesh", err)

    def test_a_rank_that_dies_ends_all(self):
        # Enough runs that it is in the middle of one, whatever the machine.
        process = start(2, "run", "mlp", "--mesh", "data=2", "--shard", "batch=data", "--bind", "batch=64", "--repeat",
                        "100000000")
        ranks = []
        deadline = time.monotonic() + LIMIT
        while len(ranks) < 2 and time.monotonic() < deadline:
            time.sleep(0.1)
            ranks = children(process.pid)
        self.assertEqual(len(ranks), 2)
        time.sleep(1)
        os.kill(ranks[1], signal.SIGKILL)
        _, err = process.communicate(timeout=LIMIT)
        self.assertNotEqual(process.returncode, 0)
        self.assertIn("signal 9", err)
        while any(map(is_running, ranks)) and time.monotonic() < deadline:
            time.sleep(0.1)
        self.assertFalse(any(map(is_running, ranks)))

    def test_ranks_with_other_programs_are_found(self):
        words = [COMMAND, "run", "mlp", "--mesh", "data=2", "--shard"]
        done = subprocess.run(["mpirun", "-n", "1", *words, "batch=data", ":", "-n", "1", *words, "x.1=data"],
                              env=ENVIRONMENT, capture_output=True, text=True, timeout=LIMIT, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("rank 1 of the mesh has another program than rank 0", done.stderr)


if __name__ == "__main__":
    unittest.main()
