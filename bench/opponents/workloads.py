"""What is measured: networks, their sizes, inputs and files."""

import random
import subprocess
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from . import in_onnx, wire
from .command import tenon

STREAM = 200  # sizes


@dataclass
class Work:
    """One line of the benchmark. `stream` has the least and greatest size of each axis that varies."""

    name: str
    group: str  # call, small, model, odd, usual, decode, int8 or train
    network: str
    sizes: dict
    stream: dict = field(default_factory=dict)
    quick: bool = False

    @property
    def kind(self):
        return self.group if self.group in ("decode", "train") else "infer"


# Inputs and weights of the networks that are no built-in models.
F32, I64 = np.float32, np.int64
SMALL = {
    "call": ([("x", F32, ["n"])], {"one": (1,)}),
    "chain": ([("x", F32, ["rows", 1024])], {"scale": (1024,), "shift": (1024,)}),
    "softmax": ([("x", F32, ["rows", 1000])], {}),
    "layer_norm": ([("x", F32, ["rows", 768])], {"scale": (768,), "bias": (768,)}),
    "dense_gelu": ([("x", F32, ["rows", 768])], {"weight": (768, 3072), "bias": (3072,)}),
    "attention": ([(each, F32, ["batch", 12, "seq", 64]) for each in "qkv"], {}),
    "lstm": ([("x", F32, ["seq", "batch", 256])],
             {"input": (2048, 256), "recurrent": (2048, 512), "bias": (4096,)}),
    "block": ([("x", F32, ["batch", "seq", 128])], {
        **{f"attention.{each}.weight": (128, 128) for each in ("query", "key", "value", "output")},
        **{f"attention.{each}.bias": (128,) for each in ("query", "key", "value", "output")},
        **{f"{each}_norm.{part}": (128,) for each in ("attention", "feed_forward") for part in ("scale", "bias")},
        "feed_forward.up.weight": (128, 512), "feed_forward.up.bias": (512,), "feed_forward.down.weight": (512, 128),
        "feed_forward.down.bias": (128,), "head.weight": (128, 64), "head.bias": (64,)}),
}  # fmt: skip
IMAGE = {"batch": 1, "height": 224, "width": 224}
# The built-in models at batch 1; eight times that is another line.
MODELS = {
    "mlp": {"batch": 1}, "small_cnn": {"batch": 1}, "resnet18": IMAGE, "resnet50": IMAGE, "mobilenet_v2": IMAGE,
    "efficientnet_b0": IMAGE, "vit_b16": {"batch": 1}, "bert_base": {"batch": 1, "seq": 128},
    "bert_base_tokens": {"batch": 1, "seq": 128}, "unet": {"batch": 1, "rows": 8, "columns": 8},
    "lstm_lm": {"batch": 1, "seq": 64},
}  # fmt: skip
STREAMS = {
    "mlp": {"batch": (1, 64)}, "small_cnn": {"batch": (1, 16)}, "resnet18": {"height": (64, 224), "width": (64, 224)},
    "bert_base": {"seq": (1, 128)}, "lstm_lm": {"seq": (1, 64)},
}  # fmt: skip
USUAL = ("resnet18", "vit_b16", "bert_base", "unet", "lstm_lm")  # whose exports differ most from what others write
QUICK = ("mlp", "resnet18", "bert_base")


def table():
    rows = [Work("call", "call", "call", {"n": 64}, quick=True),
            Work("chain", "small", "chain", {"rows": 4096}, {"rows": (1, 4096)}),
            Work("softmax", "small", "softmax", {"rows": 2048}, {"rows": (1, 2048)}, quick=True),
            Work("layer_norm", "small", "layer_norm", {"rows": 2048}, {"rows": (1, 2048)}),
            Work("dense_gelu", "small", "dense_gelu", {"rows": 256}, {"rows": (1, 256)}, quick=True),
            Work("attention", "small", "attention", {"batch": 2, "seq": 256}, {"batch": (1, 4), "seq": (1, 256)}),
            Work("lstm", "small", "lstm", {"batch": 8, "seq": 32}, {"seq": (1, 32)})]  # fmt: skip
    for name, sizes in MODELS.items():
        one = Work(f"{name}.1", "model", name, sizes, STREAMS.get(name, {}), name in QUICK)
        rows += [one, replace(one, name=f"{name}.8", sizes=sizes | {"batch": 8}, stream={}, quick=False)]
    rows += [Work(f"{name}.usual", "usual", name, MODELS[name]) for name in USUAL]
    rows += [Work(f"{name}.odd", "odd", name, {"batch": 3, "height": 193, "width": 257})
             for name in ("resnet18", "mobilenet_v2")]
    rows += [Work("bert_base.odd", "odd", "bert_base", {"batch": 5, "seq": 67}),
             Work("gpt2.decode", "decode", "gpt2", {"batch": 1, "seq": 1, "past": 127, "total": 256}),
             Work("resnet18.int8", "int8", "resnet18", IMAGE), Work("bert_base.int8", "int8", "bert_base", MODELS["bert_base"]),
             Work("mlp.train", "train", "mlp", {"batch": 64}, quick=True),
             Work("resnet18.train", "train", "resnet18", {"batch": 8, "height": 64, "width": 64}),
             Work("block.train", "train", "block", {"batch": 8, "seq": 64})]  # fmt: skip
    return rows


def stream_sizes(work):
    dice = random.Random(work.name)
    return [work.sizes | {name: dice.randint(*span) for name, span in work.stream.items()} for _ in range(STREAM)]


class Files:
    """Models and inputs in a folder, each made when it is first asked for."""

    def __init__(self, folder, command):
        self.folder, self.command = Path(folder), Path(command)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.known = {}

    def model(self, work):
        """The file of a workload; its inputs are read off it."""
        network = work.network
        path = self.folder / f"{network}{'.' + work.group if work.group in ('usual', 'int8') else ''}.onnx"
        made_by = self.command.stat().st_mtime
        if path.exists() and path.stat().st_mtime > made_by:
            return path
        if network in SMALL:
            inputs, shapes = SMALL[network]
            dice = np.random.default_rng(0)
            weights = {name: dice.normal(0, shape[0] ** -0.5, shape).astype(F32) for name, shape in shapes.items()}
            in_onnx.write(path, network, inputs, weights)
        elif work.group == "usual":
            inputs, _, weights = self.read(replace(work, group="model"))
            names = {each for each in weights if not each.startswith("constant")}
            in_onnx.write(path, network, inputs, {name: weights[name] for name in names})
        elif work.group == "int8":
            self.quantise(self.model(replace(work, group="usual")), path, work)
        else:
            tenon(self.command, "export", network, path)
        return path

    def quantise(self, source, path, work):
        """In a process of its own: ONNX Runtime's tool takes memory and threads."""
        calibration = [str(self.inputs(replace(work, group="usual"), work.sizes, seed)) for seed in range(4)]
        words = [sys.executable, "-I", Path(__file__).with_name("quantise.py"), source, path, *calibration]
        run = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False)
        if run.returncode != 0:
            path.unlink(missing_ok=True)
            raise RuntimeError(f"ONNX Runtime's quantiser: {(run.stderr.strip().splitlines() or ['it failed'])[-1]}")

    def read(self, work):
        path = self.model(work)
        if path not in self.known:
            self.known[path] = wire.read(path)
        return self.known[path]

    def inputs(self, work, sizes, seed=0):
        """A folder with the inputs at these sizes."""
        at = "_".join(f"{name}{size}" for name, size in sizes.items())
        folder = self.folder / "inputs" / f"{work.network}_{work.kind}_{at}_{seed}"
        if folder.exists():
            return folder
        dice, arrays = np.random.default_rng(seed), {}
        for name, dtype, dims in self.read(work)[0]:
            dims = [dim if isinstance(dim, int) else eval(dim, {}, sizes) for dim in dims]  # pylint: disable=eval-used
            arrays[name] = value_of(name, dtype, dims, sizes, dice)
        if work.kind == "train":
            classes = {"mlp": 10, "resnet18": 1000, "block": 64}[work.network]
            count = [sizes["batch"]] + ([sizes["seq"]] if "seq" in sizes else [])
            arrays["target"] = dice.integers(0, classes, count)
        beside = folder.with_suffix(".part")
        beside.mkdir(parents=True, exist_ok=True)
        for name, value in arrays.items():
            np.save(beside / f"{name}.npy", value)
        beside.rename(folder)
        return folder


def value_of(name, dtype, dims, sizes, dice):
    """Integers are 0 or 1: a place in any table. A cache holds nothing behind its past."""
    if not dims and name in sizes:
        return np.array(sizes[name], dtype)
    if dtype == np.bool_:
        return np.ones(dims, dtype)
    if np.issubdtype(dtype, np.integer):
        return dice.integers(0, 2, dims).astype(dtype)
    return dice.uniform(-1, 1, dims).astype(dtype)
