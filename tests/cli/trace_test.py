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
        for event in trace["traceEvents"]:
            self.assertIn(event["ph"], ("M", "X"))
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

    def test_steps_tile_by_tile(self):
        self.check(traced("mlp", "--bind", "batch=64", "--pipeline-rows", "8"), {1, 2, 3})

    def test_steps_of_a_loop(self):
        self.check(traced("lstm_lm", "--bind", "batch=1,seq=3"), set(range(1, 7)))


if __name__ == "__main__":
    unittest.main()
