"""Training on a mesh: how it grows with ranks, and against PyTorch's DistributedDataParallel.

    ./dev bench mesh [--json] [--cores N] [--rounds N] [--splits 1x2,2x1] [--no-torch] [MODEL...]

Models are resnet18 and bert_base. A split PxT is P processes with T threads each; all splits of a model train on the same
batch. The figure `linear` is the time of one process with one thread on its share of the batch by the time of N ranks on
all of it: 1 where ranks cost nothing; its target is 0.85. `ddp` is how many times as fast as DistributedDataParallel over
gloo, with as many processes and threads, the split is; its target is 1. Rounds of all sides alternate, medians are
compared, and every side has the same cores. PyTorch's norms over the batch go by the examples of a rank, Tenon's by the
whole batch, which takes exchanges that PyTorch does not make.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

TENON = os.environ.get("TENON_COMMAND", "tenon")
MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
       "OMPI_MCA_hwloc_base_binding_policy": "none"}
SIZES = {"resnet18": {"batch": 16, "height": 64, "width": 64}, "bert_base": {"batch": 8, "seq": 64}}
STEPS = 6  # an epoch; the first epoch of a run is not counted
LIMIT = 600  # seconds, of one run
LINEAR, DDP = 0.85, 1.0


def run(command, cores, environment=None):
    """What a command on the first `cores` cores prints; an error ends the benchmark."""
    done = subprocess.run(["taskset", "-c", f"0-{cores - 1}", *command], env={**os.environ, **(environment or {})},
                          capture_output=True, text=True, timeout=LIMIT, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    return done.stdout


def tenon_ms(model, batch, ranks, threads):
    """Milliseconds a step of `ranks` ranks with `threads` threads each."""
    sizes = ",".join(f"{name}={size}" for name, size in SIZES[model].items() if name != "batch")
    words = [TENON, "train", model, "--bind", sizes, "--batch", str(batch), "--examples", str(STEPS * batch), "--validate",
             "0", "--epochs", "3", "--optimizer", "sgd", "--json"]
    if ranks > 1:
        words = ["mpirun", "-n", str(ranks), *words, "--mesh", f"data={ranks}"]
    epochs = json.loads(run(words, ranks * threads, MPI))["epochs"]
    return statistics.median(epoch["microseconds"] for epoch in epochs[1:]) / STEPS / 1e3


def torch_ms(model, batch, ranks, threads):
    """The same of PyTorch, in processes of their own."""
    words = [sys.executable, "-I", __file__, "--serve", model, str(batch), str(ranks), str(threads)]
    return float(run(words, ranks * threads))


def resnet18(torch):
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self, inputs, outputs, stride):
            super().__init__()
            self.body = nn.Sequential(
                nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(),
                nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False), nn.BatchNorm2d(outputs))
            self.down = nn.Identity()
            if stride != 1 or inputs != outputs:
                self.down = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

        def forward(self, x):
            return torch.relu(self.body(x) + self.down(x))

    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    inputs = 64
    for outputs in (64, 128, 256, 512):
        for i in range(2):
            layers.append(Block(inputs, outputs, 2 if i == 0 and outputs != 64 else 1))
            inputs = outputs
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000))


def bert_base(torch):
    nn = torch.nn

    class Bert(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.places = nn.Embedding(30522, 768), nn.Embedding(512, 768)
            self.norm = nn.LayerNorm(768)
            layer = nn.TransformerEncoderLayer(768, 12, 3072, dropout=0, activation="gelu", batch_first=True)
            self.layers = nn.TransformerEncoder(layer, 12, enable_nested_tensor=False)

        def forward(self, ids):
            return self.layers(self.norm(self.words(ids) + self.places.weight[: ids.shape[1]]))

    return Bert()


def serve(model, batch, ranks, threads):
    import torch
    from torch import distributed, multiprocessing

    def rank_ms(rank, results):
        torch.set_num_threads(threads)
        torch.manual_seed(0)
        sizes = SIZES[model]
        net = {"resnet18": resnet18, "bert_base": bert_base}[model](torch)
        own = batch // ranks + (rank < batch % ranks)
        if model == "resnet18":
            x, target = torch.randn(own, 3, sizes["height"], sizes["width"]), torch.randint(1000, (own,))
        else:
            x = torch.randint(30522, (own, sizes["seq"]))
            target = torch.randint(768, (own * sizes["seq"],))
        if ranks > 1:
            distributed.init_process_group("gloo", init_method="tcp://127.0.0.1:29511", rank=rank, world_size=ranks)
            net = torch.nn.parallel.DistributedDataParallel(net)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        times = []
        for _ in range(3 * STEPS):
            begin = time.perf_counter()
            optimizer.zero_grad()
            y = net(x)
            torch.nn.functional.cross_entropy(y.reshape(-1, y.shape[-1]), target).backward()
            optimizer.step()
            times.append(time.perf_counter() - begin)
        if rank == 0:
            results.put(statistics.median(times[STEPS:]) * 1e3)
        if ranks > 1:
            distributed.destroy_process_group()

    context = multiprocessing.get_context("fork")
    results = context.Queue()
    processes = [context.Process(target=rank_ms, args=(rank, results)) for rank in range(ranks)]
    for process in processes:
        process.start()
    print(results.get(timeout=LIMIT))
    for process in processes:
        process.join()


def report(args, name, value, target, milliseconds):
    met = value >= target
    if args.json:
        print(json.dumps({"name": name, "value": value, "unit": "x", "target": target, "ok": met, "ms": milliseconds}),
              flush=True)
    else:
        shown = ", ".join(f"{side} {each:.1f} ms" for side, each in milliseconds.items())
        print(f"{name:<28} {value:6.2f} x  >= {target}  {'' if met else 'MISSED'}  {shown}", flush=True)
    return met


def measure(args, model, splits):
    """Milliseconds a step of each side: Tenon's splits, PyTorch's, and one process with one thread on its share."""
    batch = args.batch or SIZES[model]["batch"] * max(1, args.cores // 2)
    sides = {"alone": lambda: tenon_ms(model, max(1, batch // args.cores), 1, 1)}
    for ranks, threads in splits:
        sides[f"{ranks}x{threads}"] = lambda ranks=ranks, threads=threads: tenon_ms(model, batch, ranks, threads)
        if not args.no_torch:
            sides[f"torch {ranks}x{threads}"] = lambda ranks=ranks, threads=threads: torch_ms(model, batch, ranks, threads)
    found = {side: [] for side in sides}
    for _ in range(args.rounds):
        for side, one in sides.items():
            found[side].append(one())
    return {side: statistics.median(each) for side, each in found.items()}


def main():
    if sys.argv[1:2] == ["--serve"]:
        serve(sys.argv[2], *map(int, sys.argv[3:6]))
        return 0
    parser = argparse.ArgumentParser(prog="./dev bench mesh", description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--cores", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--batch", type=int, default=0, help="examples a step of all ranks (default: grows with cores)")
    parser.add_argument("--splits", default="", help="processes x threads: 1x16,4x4,16x1 (default: 1xN and Nx1)")
    parser.add_argument("--no-torch", action="store_true", help="Tenon alone")
    parser.add_argument("models", nargs="*", metavar="MODEL", help=", ".join(SIZES))
    args = parser.parse_args()
    for model in args.models:
        if model not in SIZES:
            parser.error(f"there is no model {model}; there are {', '.join(SIZES)}")
    words = args.splits or f"1x{args.cores},{args.cores}x1"
    splits = [tuple(map(int, word.split("x"))) for word in words.split(",")]
    missed = 0
    for model in args.models or SIZES:
        times = measure(args, model, splits)
        for ranks, threads in splits:
            side = f"{ranks}x{threads}"
            linear = {each: times[each] for each in ("alone", side)}
            missed += not report(args, f"{model}.{side}.linear", times["alone"] / times[side], LINEAR, linear)
            if not args.no_torch:
                both = {each: times[each] for each in (side, f"torch {side}")}
                missed += not report(args, f"{model}.{side}.ddp", times[f"torch {side}"] / times[side], DDP, both)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
