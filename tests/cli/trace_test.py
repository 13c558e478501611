"""Traces are what Perfetto's and Chrome's viewers take as they are: named lanes whose slices do not overlap by halves."""

import collections
import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMMAND = os.environ["TENON_COMMAND"]


def traced(*words):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "trace.json"
        subprocess.run([COMMAND, "run", *words, "--no-cache", "--trace", file], check=True, capture_output=True, cwd=ROOT)
        return json.loads(file.read_text(encoding="utf-8"))


class Traces(unittest.TestCase):
    def check(self, trace, steps):
        self.assertEqual(trace["displayTimeUnit"], "ns")
        names = collections.defaultdict(set)
        slices = collections.defaultdict(list)
        arrows = collections.defaultdict(list)
        for event in trace["traceEvents"]:
            self.assertIn(event["ph"], ("M", "X", "s", "f"))
            if event["ph"] in ("s", "f"):
                arrows[event["id"]].append(event)
                continue
            if event["ph"] == "M":
                key = event["pid"] if event["name"] == "process_name" else (event["pid"], event["tid"])
                names[event["name"]].add(key)
                self.assertTrue(event["args"]["name"])
                continue
            self.assertNotEqual(event["tid"], 0, "the idle thread, to Perfetto")
            self.assertTrue(event["name"])
            self.assertGreaterEqual(event["dur"], 0)
            slices[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
        self.assertEqual({event["args"]["step"] for event in trace["traceEvents"] if event["ph"] == "X"}, steps)
        for begin, end in arrows.values():
            self.assertEqual((begin["ph"], end["ph"], end["bp"]), ("s", "f", "e"))
            self.assertLessEqual(begin["ts"], end["ts"])
            for point in (begin, end):
                lane = slices[point["pid"], point["tid"]]
                self.assertTrue(any(a <= point["ts"] <= b for a, b in lane), "an arrow ends at no slice")
        for lane, of_lane in slices.items():
            self.assertIn(lane, names["thread_name"])
            self.assertIn(lane[0], names["process_name"])
            open_until = []
            for begin, end in sorted(of_lane, key=lambda each: (each[0], -each[1])):
                while open_until and open_until[-1] <= begin + 1e-6:
                    open_until.pop()
                if open_until:
                    self.assertLessEqual(end, open_until[-1] + 1e-6, f"{lane}: half of a slice lies in another")
                open_until.append(end)

    def test_steps_one_after_the_other(self):
        self.check(traced("mlp", "--bind", "batch=3"), {1, 2, 3})

    def test_slices_have_names_of_nodes_and_arrows_follow_what_is_read(self):
        trace = traced("mlp", "--bind", "batch=3")
        slices = [event for event in trace["traceEvents"] if event["ph"] == "X"]
        first = next(event for event in slices if event["args"]["step"] == 1)
        self.assertEqual(first["name"], "layers.0 (contract add relu)")
        self.assertEqual(first["args"]["nodes"], "layers.0")
        self.assertEqual(first["args"]["operators"], "contract add relu")
        self.assertEqual(len([event for event in trace["traceEvents"] if event["ph"] == "s"]), 2)

    def test_names_of_any_bytes(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "named.onnx"
            made = subprocess.run([COMMAND, "export", "mlp", file], capture_output=True, text=True, check=False)
            if "TENON_ONNX=OFF" in made.stderr:
                self.skipTest("built without ONNX")
            file.write_bytes(file.read_bytes().replace(b"layers.0", b"\x1b[31m\xff.0"))  # as long
            trace = traced(file, "--bind", "batch=3")
            nodes = [event.get("args", {}).get("nodes", "") for event in trace["traceEvents"]]
            self.assertTrue(any(each.startswith("\x1b[31m\ufffd.0") for each in nodes), nodes)
            for words in (["--bind", "batch=3"], ["--why", "1", "2"], ["--memory", "--bind", "batch=3"]):
                run = subprocess.run([COMMAND, "explain", file, *words], capture_output=True, text=True, check=True)
                self.assertIn("\\x1b[31m\\xff.0", run.stdout)
                self.assertNotIn("\x1b", run.stdout)
            run = subprocess.run([COMMAND, "partition", file], capture_output=True, text=True, check=True)
            self.assertIn("\\x1b[31m\\xff.0", run.stdout)
            self.assertNotIn("\x1b", run.stdout)

    def test_steps_tile_by_tile(self):
        self.check(traced("mlp", "--bind", "batch=64", "--pipeline-rows", "8"), {1, 2, 3})

    def test_steps_of_a_loop(self):
        self.check(traced("lstm_lm", "--bind", "batch=1,seq=3"), set(range(1, 7)))


if __name__ == "__main__":
    unittest.main()
