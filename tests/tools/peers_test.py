"""What `./dev bench peers` computes and writes; that it starts is tested by asking it for help."""

import copy
import json
import math
import os
import subprocess
import sys
import tempfile
import unittest
import xml.dom.minidom
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "bench"))

from opponents import figures, machine, page, plot, terminal  # noqa: E402

COMMAND = Path(os.environ.get("TENON_COMMAND", ROOT / "build/release/tenon"))
SERVER = COMMAND.with_name("bench_peers_steps")

try:
    import numpy as np
except ImportError:
    np = None


def side(*steady, **more):
    return {"first": 1.0, "steady": list(steady), "memory": 1 << 20, **more}


def row(name, group="model", threads=2, **sides):
    return {"name": name, "group": group, "threads": threads, "sizes": {}, "sides": sides}


RESULTS = {
    "machine": {"cpu": "Test <CPU>", "architecture": "x86_64", "processors": 2, "caches": {"L1": "32K"},
                "memory": 2**34, "features": ["avx2"], "system": "6.1"},
    "date": "2026-01-02", "rounds": 3, "versions": {"tenon": "ready", "openvino": "1.2"},
    "rows": [
        row("mlp.1", tenon=side(1e-3, 3e-3, 2e-3, stream={"seconds": 2, "done": 200}),
            openvino=side(4e-3, 4e-3, 4e-3, stream={"seconds": 8, "done": 200}),
            jax=side(1e-3, 1e-3, 1e-3, stream={"seconds": 60, "done": 30})),
        row("resnet.1", tenon=side(2e-3), openvino=side(1e-3), jax={"left_out": "nobody wrote it"}),
        row("mlp.train", "train", tenon=side(1.0), openvino={"left_out": "it does not train"}, eager=side(100.0)),
        row("gone.1", tenon={"missing": "it is off"}, openvino=side(1.0)),
    ],
}  # fmt: skip


class Figures(unittest.TestCase):
    def test_a_time_is_the_median_of_rounds_and_its_spread_all_of_them(self):
        self.assertEqual(figures.median(side(1.0, 9.0, 2.0)), 2.0)
        self.assertEqual(figures.spread(side(1.0, 9.0, 2.0)), 4.0)

    def test_a_ratio_above_one_is_ours_being_faster(self):
        first, second, *_ = RESULTS["rows"]
        self.assertEqual(figures.ratios(first), {"openvino": 2.0, "jax": 0.5})
        self.assertEqual(figures.fastest(first), ("jax", 0.5))
        self.assertEqual(figures.ratios(second), {"openvino": 0.5})

    def test_a_stream_is_compared_by_throughput_where_one_side_stopped(self):
        self.assertEqual(figures.ratios(RESULTS["rows"][0], "stream"), {"openvino": 4.0, "jax": 200.0})

    def test_without_us_or_without_them_there_is_no_ratio(self):
        self.assertEqual(figures.ratios(RESULTS["rows"][3]), {})
        self.assertIsNone(figures.fastest(row("x", tenon=side(1.0), jax={"missing": "gone"})))

    def test_means_are_geometric_and_say_of_how_many(self):
        found = figures.means(figures.in_mean(RESULTS["rows"]))
        self.assertEqual(found["openvino"], (1.0, 2))
        self.assertAlmostEqual(found["fastest"][0], 0.5)
        self.assertNotIn("eager", found)  # training is apart
        self.assertIsNone(figures.geometric_mean([]))

    def test_times_and_bytes_have_units_that_fit(self):
        self.assertEqual([figures.seconds_text(each) for each in (2.5, 0.0123, 4.56e-4, 2e-7)],
                         ["2.50 s", "12.3 ms", "456 us", "0.20 us"])  # fmt: skip
        self.assertEqual([figures.bytes_text(each) for each in (3 << 20, 3 << 29)], ["3 MiB", "1.50 GiB"])


class Pages(unittest.TestCase):
    def test_a_section_has_every_figure_apart(self):
        text = page.section(RESULTS)
        for heading in ("Steady state, 2 threads", "First call, 2", "Stream of sizes, 2", "Memory, 2", "Left out"):
            self.assertIn(f"### {heading}", text)
        self.assertIn("| mlp.1 | 2.00 ms ±50% | 4.00 ms ±0% (2.00) | – | 1.00 ms ±0% (0.50) | 0.50 |", text)
        self.assertIn("0.5/s, 30", text)  # of 200
        self.assertIn("- Tenon, gone.1: it is off", text)

    def test_a_machine_writes_its_own_section_and_keeps_the_others(self):
        other = copy.deepcopy(RESULTS)
        other["machine"]["cpu"] = "Another"
        page_of_both = page.with_section(page.with_section("", RESULTS), other)
        self.assertEqual(page_of_both.count("<!-- machine "), 2)
        newer = copy.deepcopy(RESULTS)
        newer["date"] = "2027-01-01"
        again = page.with_section(page_of_both, newer)
        self.assertEqual(again.count("<!-- machine "), 2)
        self.assertIn(page.section(other), again)
        self.assertIn("2027-01-01", again)
        self.assertEqual(again.count("2026-01-02"), 1)
        causes = "<!-- causes -->\nwhy\n<!-- /causes -->\n"
        self.assertTrue(page.with_section(again + causes, newer).endswith("\n" + causes))
        self.assertEqual(page.with_section(again, newer), again)

    def test_pictures_and_pages_are_well_formed(self):
        xml.dom.minidom.parseString(page.picture(RESULTS))
        text = page.html(RESULTS)
        self.assertIn("Test &lt;CPU&gt;", text)
        self.assertEqual(text.count("<table>"), text.count("</table>"))
        self.assertEqual(text.count("<svg"), 4)

    def test_the_readme_gets_the_picture_between_its_marks(self):
        before = "a\n<!-- peers -->\nold\n<!-- /peers -->\nb\n"
        after = page.with_picture(before, RESULTS)
        self.assertIn("geometric mean: 0.50](docs/images/peers.svg)", after)
        self.assertNotIn("old", after)
        self.assertEqual(page.with_picture(after, RESULTS), after)
        self.assertEqual((after[:2], after[-2:]), ("a\n", "b\n"))

    def test_bars_go_right_where_we_are_faster(self):
        found = xml.dom.minidom.parseString(plot.bars("t", [("a", 2.0, ""), ("b", 0.5, ""), ("c & d", 1.0, "")]))
        bars = [each for each in found.getElementsByTagName("rect") if each.getAttribute("height") == "12"]
        left, width = ([float(each.getAttribute(name)) for each in bars] for name in ("x", "width"))
        self.assertAlmostEqual(left[0], left[2])
        self.assertAlmostEqual(left[1] + width[1], left[0])
        self.assertAlmostEqual(width[0], width[1])

    def test_the_terminal_aligns_columns(self):
        lines = [each for each in terminal.text(RESULTS["rows"]).splitlines() if "(" in each or "Tenon " in each]
        steady = lines[:3]
        self.assertEqual(len(set(map(len, steady))), 1, steady)

    def test_a_machine_is_known_again_by_its_kind(self):
        self.assertEqual(machine.key(RESULTS["machine"]), "Test <CPU>, 2 processors")
        self.assertEqual(set(machine.describe()), set(RESULTS["machine"]))
        self.assertTrue(machine.processors())


@unittest.skipUnless(np, "needs NumPy")
class Arrays(unittest.TestCase):
    def test_what_differs_is_told_by_how_much(self):
        from opponents.compare import difference

        a = np.array([1.0, -4.0], np.float32)
        self.assertEqual(difference(a, a), 0)
        self.assertAlmostEqual(difference(a, a + np.float32(0.5)), 0.125)
        self.assertEqual(difference(a, a[:1]), math.inf)
        self.assertEqual(difference(a, np.array([1.0, np.nan], np.float32)), math.inf)
        self.assertEqual(difference(np.zeros(0), np.zeros(0)), 0)
        self.assertEqual(difference(a, a + np.float32(0.5), 0.5), 0)

    def test_files_are_read_as_they_were_written(self):
        from opponents import wire

        weights = {"w": np.arange(6, dtype=np.float32).reshape(2, 3), "i": np.array([-5, 300], np.int64),
                   "s": np.array(True)}  # fmt: skip
        node = wire.node("MatMul", ["x", "w"], ["y"], {"axis": -1, "scale": 0.5, "perm": [1, 0], "mode": "a"})
        data = wire.model([node], [wire.port("x", np.float32, ["batch", 2])], [wire.port("y", None, None)], weights, 17)
        with tempfile.NamedTemporaryFile() as file:
            file.write(data)
            file.flush()
            inputs, outputs, read = wire.read(file.name)
        self.assertEqual((inputs, outputs), ([("x", np.dtype(np.float32), ["batch", 2])], ["y"]))
        for name, value in weights.items():
            np.testing.assert_array_equal(read[name], value)

    def test_streams_are_the_same_for_everyone_and_within_their_ranges(self):
        from opponents.workloads import STREAM, stream_sizes, table

        names = [work.name for work in table()]
        self.assertEqual(len(names), len(set(names)))
        for work in table():
            sizes = stream_sizes(work)
            self.assertEqual((len(sizes), sizes), (STREAM, stream_sizes(work)))
            for name, (least, most) in work.stream.items():
                self.assertTrue(all(least <= each[name] <= most for each in sizes))

    def test_a_side_answers_lines_and_survives_its_own_errors(self):
        from opponents.serve import answers

        class Doubler:
            def open(self, kind, network, file):
                if network == "bad":
                    raise ValueError("no")

            def start(self, arrays):
                self.x = arrays["x"]

            def call(self):
                self.y = self.x * 2

            def outputs(self):
                return [self.y]

        with tempfile.TemporaryDirectory() as folder:
            given, result = Path(folder, "in"), Path(folder, "out")
            given.mkdir()
            np.save(given / "x.npy", np.arange(3))
            lines = ["open\tinfer\tbad\tf\n", "open\tinfer\tgood\tf\n", f"run\t{given},{given}\t2\n", f"write\t{result}\n"]
            bad, opened, times, written = answers(Doubler(), lines)
            self.assertEqual((bad, len(times), written), ({"error": "ValueError: no"}, 4, 1))
            self.assertGreaterEqual(opened, 0)
            np.testing.assert_array_equal(np.load(result / "0.npy"), [0, 2, 4])


class Script(unittest.TestCase):
    def script(self, *words):
        run = subprocess.run([sys.executable, "-I", ROOT / "bench/peers.py", *words], capture_output=True, text=True)
        return run.returncode, run.stdout, run.stderr

    def test_help_teaches(self):
        status, out, _ = self.script("--help")
        self.assertEqual(status, 0)
        for word in ("--quick", "--keep run.json", "--write", "--tenon", "stream"):
            self.assertIn(word, out)

    def test_it_shows_what_was_kept_without_measuring(self):
        with tempfile.TemporaryDirectory() as folder:
            kept, html, svg = (Path(folder, name) for name in ("run.json", "page.html", "picture.svg"))
            kept.write_text(json.dumps(RESULTS))
            status, out, err = self.script("--keep", kept, "--rounds", "0", "--html", html, "--svg", svg)
            self.assertEqual((status, err), (1, ""))  # Tenon is missing in one row
            self.assertIn("Steady state, 2 threads", out)
            self.assertIn("<svg", svg.read_text())
            self.assertIn("<table>", html.read_text())

    def test_refusals_are_plain(self):
        status, _, err = self.script("--sides", "tenon,rabbit")
        self.assertEqual(status, 2)
        self.assertIn("no side is called rabbit", err)
        for threads in ("x", "0", "2,,1"):
            status, _, err = self.script("--threads", threads)
            self.assertEqual(status, 2)
            self.assertIn("--threads takes numbers above 0", err)


@unittest.skipUnless(np and SERVER.exists(), "needs NumPy and bench_peers_steps")
class Smoke(unittest.TestCase):
    def test_tenon_is_measured_and_a_side_that_is_not_there_is_said(self):
        with tempfile.TemporaryDirectory() as folder:
            words = ["--tenon", COMMAND, "--folder", folder, "--sides", "tenon,onnxruntime,openvino", "--only",
                     "softmax", "--rounds", "2", "--seconds", "0.001", "--threads", "1", "--json"]  # fmt: skip
            run = subprocess.run([sys.executable, "-I", ROOT / "bench/peers.py", *words], capture_output=True, text=True)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        found, means = map(json.loads, run.stdout.splitlines())
        ours = found["sides"]["tenon"]
        self.assertEqual((found["name"], len(ours["steady"]), ours["stream"]["done"]), ("softmax", 2, 200))
        self.assertGreater(ours["memory"], 0)
        for name in ("onnxruntime", "openvino"):
            self.assertTrue({"steady", "missing"} & found["sides"][name].keys())
        self.assertIn("machine", means)


if __name__ == "__main__":
    unittest.main()
