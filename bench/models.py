"""Every ONNX file under a folder against ONNX Runtime, on made-up inputs at two bindings each.

    ./dev models [--json] [--rounds N] [--threads N] [--interpreter] --patterns | FOLDER...

A file is right, wrong, refused (by an error of one message), crashed (a signal, or no answer in time), or not run by ONNX
Runtime itself at any sizes that were tried, which says nothing. Sizes are guessed from names, types and positions until
ONNX Runtime takes them. Outputs agree when no element is off by more than a thousandth of the output's largest and a last bit of 1,
integers exactly; where a file holds quantised values, whose rounding a last bit decides, by a twentieth and one step.
With --interpreter, or without ONNX Runtime, what is compiled is held against the interpreter instead (`tenon check`),
and a program that was built must give the same bits by the command and by libtenon_run alone.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import onnx

try:
    import onnxruntime
except ImportError:
    onnxruntime = None

sys.path.append(str(Path(__file__).parent))  # which `python -I` leaves out

from opponents.as_program import COMMAND, TIMEOUT, program_differs, reason_of
from opponents.compare import difference

LAST_BIT = 5e-7  # what a sigmoid near 0 is off by where it is computed as 1 less something
TOLERANCE, QUANTISED_TOLERANCE = 1e-3, 5e-2
RANDOM = {"RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Bernoulli", "Multinomial"}
DTYPES = {"float": np.float32, "double": np.float64, "float16": np.float16, "int64": np.int64, "int32": np.int32,
          "int16": np.int16, "int8": np.int8, "uint64": np.uint64, "uint32": np.uint32, "uint16": np.uint16,
          "uint8": np.uint8, "bool": np.bool_}
# (of images, of anything else): two bindings for each guess, in the order in which they are tried.
GUESSES = [((64, 96), (24, 37)), ((320, 256), (160, 224)), ((48, 96), (512, 576)), ((640, 512), (2048, 3072)),
           ((224, 288), (16000, 24001)), ((32, 64), (7, 9)), ((1, 2), (1, 2))]
LIMITS = [100, 2]  # of integers: a word of some vocabulary, a place in any table


def size_of(name, owner, rank, position, guess, binding):
    """What an axis of this name, of an input of this name and rank, could be."""
    images, others = (values[binding] for values in GUESSES[guess])
    word = str(name).lower()
    is_state = rank == 3 and position == 1 and "state" in owner.lower()  # [layers, batch, units]
    if position == 0 or word.startswith("batch") or is_state:
        return 1 + binding
    if rank == 4 and position == 1 and "seq" not in word and "head" not in word:
        return 3
    if rank == 4:
        return images if position == 2 else images + 32 * binding
    return others


def value_of(name, dtype, dims, sizes, limit, random):
    """Numbers that such an input could hold: rates and lengths by their names, else small ones."""
    word = name.lower()
    if np.issubdtype(dtype, np.floating):
        if "scale" in word and len(dims) <= 1:
            return np.full(dims, 0.7, dtype)
        return random.uniform(-1, 1, dims).astype(dtype)
    if dtype == np.bool_:
        return np.ones(dims, dtype)
    if word in ("sr", "sample_rate", "sampling_rate"):
        return np.full(dims, 16000, dtype)
    if "len" in word and len(dims) <= 1:
        return np.full(dims, max((size for size in sizes if size > 1), default=1), dtype)
    if "mask" in word:
        return np.ones(dims, dtype)
    return random.integers(0, limit, dims).astype(dtype)


def make_inputs(session, guess, binding, limit=2):
    """Arrays by name, with integers below `limit`, and whether any size was free."""
    random = np.random.default_rng(1 + binding)
    bound, free, inputs = {}, False, {}
    shapes = {}
    for each in session.get_inputs():
        dims = []
        for position, dim in enumerate(each.shape):
            if isinstance(dim, int) and dim >= 0:
                dims.append(dim)
                continue
            free = True
            name = dim if isinstance(dim, str) else (each.name, position)
            bound.setdefault(name, size_of(name, each.name, len(each.shape), position, guess, binding))
            dims.append(bound[name])
        shapes[each.name] = dims
    longest = [size for dims in shapes.values() for size in dims[1:]]
    for each in session.get_inputs():
        kind = each.type.removeprefix("tensor(").removesuffix(")")
        if kind not in DTYPES:
            raise ValueError(f"input {each.name} is {each.type}")
        inputs[each.name] = value_of(each.name, DTYPES[kind], shapes[each.name], longest, limit, random)
    return inputs, free


def opened(path, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


class FileInputs:
    """What a file says of its inputs, in the words of a session."""

    Input = collections.namedtuple("Input", "name shape type")

    def __init__(self, path):
        graph = onnx.load(path, load_external_data=False).graph
        constants = {each.name for each in graph.initializer}
        self.inputs = [self.described(each) for each in graph.input if each.name not in constants]

    def described(self, each):
        kind = onnx.helper.tensor_dtype_to_np_dtype(each.type.tensor_type.elem_type)
        word = next((word for word, dtype in DTYPES.items() if dtype == kind), str(kind))
        dims = [dim.dim_value if dim.HasField("dim_value") else dim.dim_param or None
                for dim in each.type.tensor_type.shape.dim]
        return self.Input(each.name, dims, f"tensor({word})")

    def get_inputs(self):
        return self.inputs


def is_one_step_off(output):
    """What a last bit before a rounding to integers does."""
    near = output["relative_error"] <= QUANTISED_TOLERANCE or output["largest_error"] <= 1
    return near and output["mismatched"] == 0 and not output["misfit"]


def check_binding(path, session, binding, first_guess, folder, arguments, trait):
    """One binding against the interpreter: a record, and the guess of sizes that the model takes."""
    record = {}
    for guess, limit in ((guess, limit) for guess in range(first_guess, len(GUESSES)) for limit in LIMITS):
        inputs, free = make_inputs(session, guess, binding, limit)
        if binding > 0 and not free:
            return None, guess
        words = [COMMAND, "check", path, "--threads", arguments.threads, "--json", *saved(inputs, folder)]
        record = {"sizes": {name: list(value.shape) for name, value in inputs.items()}}
        try:
            run = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=TIMEOUT, check=False)
        except subprocess.TimeoutExpired:
            return record | {"result": "crashed", "reason": f"no answer in {TIMEOUT} seconds"}, guess
        if run.returncode == 0:
            words = saved(inputs, folder)
            wrong = program_differs(path, dict(zip(inputs, words[1::2])), folder, arguments.threads) if binding == 0 else ""
            return record | ({"result": "wrong", "reason": wrong} if wrong else {"result": "right"}), guess
        if run.returncode != 1:
            return record | {"result": "crashed", "reason": f"status {run.returncode}: {reason_of(run.stderr)}"}, guess
        if run.stdout:
            outputs = [each for each in json.loads(run.stdout)["outputs"] if not each["ok"]]
            if trait["quantised"] and all(map(is_one_step_off, outputs)):
                return record | {"result": "right"}, guess
            return record | {"result": "wrong", "reason": f"{outputs[0]['output']} differs from the interpreter"}, guess
        record |= {"result": "refused", "reason": reason_of(run.stderr)}
    return record, first_guess


def answer(session, inputs):
    """What ONNX Runtime gives; None for what it refuses."""
    try:
        return session.run(None, inputs)
    except Exception:  # pylint: disable=broad-except
        return None


def operators(graph):
    found = set()
    for node in graph.node:
        found.add(node.op_type)
        for attribute in node.attribute:
            if attribute.HasField("g"):
                found |= operators(attribute.g)
    return found


def traits(path):
    model = onnx.load(path, load_external_data=False)
    found = operators(model.graph).union(*(operators(function) for function in model.functions))
    return {"random": bool(found & RANDOM), "quantised": any("Quantize" in each or "QLinear" in each or "Integer" in each
                                                             or "NBits" in each for each in found)}


def saved(inputs, folder):
    """The words that give these inputs to the command."""
    words = []
    for number, (name, value) in enumerate(inputs.items()):
        file = folder / f"{number}.npy"
        np.save(file, value)
        words += ["--input", f"{name}={file}"]
    return words


def run_tenon(path, inputs, folder, threads, repeat=1):
    words = [COMMAND, "run", path, "--threads", threads, "--repeat", repeat, "--json", "--output", folder / "out",
             *saved(inputs, folder)]
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=TIMEOUT, check=False)


def compare(names, wanted, folder, trait):
    """(right, what is wrong)."""
    for name, value in zip(names, wanted):
        if not isinstance(value, np.ndarray):
            continue
        file = folder / "out" / f"{name.replace('/', '_')}.npy"
        got = np.load(file if file.exists() else folder / "out" / f"{name}.npy")
        if trait["random"]:
            if got.shape != value.shape:
                return f"{name} is {list(got.shape)}, must be {list(value.shape)}"
            continue
        off = difference(value, got, LAST_BIT)
        exact = not np.issubdtype(value.dtype, np.floating) and not trait["quantised"]
        most = 0 if exact else QUANTISED_TOLERANCE if trait["quantised"] else TOLERANCE
        if trait["quantised"] and not np.issubdtype(value.dtype, np.floating) and value.shape == got.shape:
            off = 0.0 if np.max(np.abs(value.astype(np.int64) - got.astype(np.int64)), initial=0) <= 1 else off
        if off > most:
            return f"{name} is off by {off:.1e}"
    return ""


def median_of(session, inputs, times):
    results = []
    for _ in range(times):
        begin = time.perf_counter()
        session.run(None, inputs)
        results.append((time.perf_counter() - begin) * 1e6)
    return sorted(results)[len(results) // 2]


def times_of(path, session, inputs, folder, arguments):
    """Medians of both, in turns."""
    times = max(1, min(50, int(0.3e6 / max(1.0, median_of(session, inputs, 2)))))
    ours, theirs = [], []
    for _ in range(arguments.rounds):
        run = run_tenon(path, inputs, folder, arguments.threads, times)
        ours.append(json.loads(run.stdout)["microseconds"]["median"])
        theirs.append(median_of(session, inputs, times))
    return min(ours), min(theirs)


def try_binding(path, session, binding, first_guess, folder, arguments, trait):
    """One binding: a record, and the guess that ONNX Runtime took."""
    wanted = None
    for guess, limit in ((guess, limit) for guess in range(first_guess, len(GUESSES)) for limit in LIMITS):
        inputs, free = make_inputs(session, guess, binding, limit)
        if binding > 0 and not free:
            return None, guess
        wanted = answer(session, inputs)
        if wanted is not None:
            break
    if wanted is None:
        return {"result": "unrun", "reason": "ONNX Runtime takes none of the sizes tried"}, first_guess
    record = {"sizes": {name: list(value.shape) for name, value in inputs.items()}}
    try:
        run = run_tenon(path, inputs, folder, arguments.threads)
    except subprocess.TimeoutExpired:
        return record | {"result": "crashed", "reason": f"no answer in {TIMEOUT} seconds"}, guess
    if run.returncode == 1:
        return record | {"result": "refused", "reason": reason_of(run.stderr)}, guess
    if run.returncode != 0:
        return record | {"result": "crashed", "reason": f"status {run.returncode}: {reason_of(run.stderr)}"}, guess
    wrong = compare([each.name for each in session.get_outputs()], wanted, folder, trait)
    if wrong:
        return record | {"result": "wrong", "reason": wrong}, guess
    if arguments.rounds > 0:
        ours, theirs = times_of(path, session, inputs, folder, arguments)
        record |= {"ours": ours, "theirs": theirs, "ratio": theirs / ours}
    return record | {"result": "right"}, guess


def try_file(path, first_guess, arguments):
    """Records of its bindings, from this guess of sizes on."""
    try:
        session = FileInputs(path) if arguments.interpreter else opened(path, arguments.threads)
        trait = traits(path)
        make_inputs(session, 0, 0)
    except Exception as error:  # pylint: disable=broad-except
        return [{"result": "unrun", "reason": str(error).splitlines()[0][:160]}]
    records, guess = [], first_guess
    with tempfile.TemporaryDirectory() as folder:
        for binding in range(2):
            if arguments.interpreter:
                record, guess = check_binding(path, session, binding, guess, Path(folder), arguments, trait)
            else:
                record, guess = try_binding(path, session, binding, guess, Path(folder), arguments, trait)
            if record:
                records.append(record)
    return records


def try_in_child(path, arguments):
    """The same in a process of its own, since ONNX Runtime dies of some sizes."""
    for guess in range(len(GUESSES)):
        words = [sys.executable, "-I", __file__, "--rounds", str(arguments.rounds), "--threads", str(arguments.threads),
                 "--guess", str(guess), str(path), *(["--interpreter"] if arguments.interpreter else [])]
        run = subprocess.run(words, capture_output=True, text=True, check=False)
        if run.returncode == 0:
            return json.loads(run.stdout)
    return [{"result": "unrun", "reason": f"ONNX Runtime fails: {reason_of(run.stderr)}"}]


def worst_of(records):
    order = ["right", "unrun", "refused", "wrong", "crashed"]
    return max((record["result"] for record in records), key=order.index)


def show(path, records):
    worst = worst_of(records)
    ratios = " ".join(f"{record['ratio']:.2f}" for record in records if "ratio" in record)
    reason = next((record["reason"] for record in records if record["result"] == worst and "reason" in record), "")
    print(f"{worst:8} {path}{'  ' + ratios if ratios else ''}{'  ' + reason if reason else ''}", flush=True)


def write_patterns():
    folder = Path(os.environ["TENON_BENCH_FOLDER"]) / "patterns"
    subprocess.run([sys.executable, "-I", Path(__file__).with_name("model_patterns.py"), folder], check=True,
                   stdout=subprocess.DEVNULL)
    return str(folder)


def main():
    parser = argparse.ArgumentParser(prog="./dev models", description="Files against ONNX Runtime.")
    parser.add_argument("--json", action="store_true", help="one object a line for each file, and one of counts")
    parser.add_argument("--rounds", type=int, default=1, help="how often the two take turns; 0: no times (default 1)")
    parser.add_argument("--threads", type=int, default=2, help="of both (default 2)")
    parser.add_argument("--guess", type=int, help=argparse.SUPPRESS)  # the child of one file
    parser.add_argument("--interpreter", action="store_true", help="against the interpreter, without ONNX Runtime")
    parser.add_argument("--patterns", action="store_true", help="write small files of all patterns, and run those")
    parser.add_argument("folders", nargs="*", metavar="FOLDER", help="folders, or files")
    arguments = parser.parse_args()
    arguments.interpreter |= onnxruntime is None
    if arguments.guess is not None:
        print(json.dumps(try_file(arguments.folders[0], arguments.guess, arguments)))
        return
    if arguments.patterns:
        arguments.folders.append(write_patterns())
    paths = [path for folder in map(Path, arguments.folders)
             for path in (sorted(folder.rglob("*.onnx")) if folder.is_dir() else [folder])]
    if not paths:
        sys.exit("dev: models: there are no .onnx files there")
    counts, reasons = collections.Counter(), collections.Counter()
    # Where nothing is timed, as many files at once as there are cores.
    at_once = 1 if arguments.rounds else os.cpu_count() or 1
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        for path, records in zip(paths, pool.map(lambda path: try_in_child(path, arguments), paths)):
            counts[worst_of(records)] += 1
            reasons.update({record["reason"] for record in records if record["result"] == "refused"})
            if arguments.json:
                print(json.dumps({"file": str(path), "result": worst_of(records), "bindings": records}), flush=True)
            else:
                show(path, records)
    if arguments.json:
        print(json.dumps({"files": len(paths), **counts}), flush=True)
    else:
        print(f"\n{len(paths)} files: " + ", ".join(f"{count} {word}" for word, count in counts.most_common()))
        for reason, count in reasons.most_common():
            print(f"  refused {count}: {reason}")
    sys.exit(1 if counts["wrong"] or counts["crashed"] else 0)


if __name__ == "__main__":
    main()
