"""PyTorch's own operator samples (op_db) on the device tenon, held against the CPU, forward and backward.

    python conformance.py [--json] [--only TEXT] [--samples N] [--list] [--write FILE.md]

Each operator and dtype (f32, i64) is one case: `supported` (every sample is right and nothing ran on the CPU),
`fallback` (right, but something did), `wrong`, `crashed` (an error that the CPU does not raise, or the process died),
`refused` (sparse layouts).
"""

from __future__ import annotations

import argparse
import collections
import json
import multiprocessing
import os
import sys
import time
import warnings

WORKERS = 2
SECONDS_PER_CASE = 120

# Results are whatever memory held, or random numbers: sizes and dtypes are compared.
SIZES_ALONE = {
    "empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided", "bernoulli", "rand_like",
    "randint", "randint_like", "randn", "randn_like", "normal", "multinomial", "uniform", "nn.functional.dropout",
    "nn.functional.alpha_dropout", "nn.functional.dropout2d", "nn.functional.dropout3d", "cauchy", "exponential",
    "geometric", "log_normal", "nn.functional.feature_alpha_dropout", "nn.functional.rrelu", "svd_lowrank",
    "pca_lowrank", "nn.functional.fractional_max_pool2d", "nn.functional.fractional_max_pool3d", "rand", "resize_",
    "resize_as_", "nn.functional.multi_head_attention_forward", "nn.functional.scaled_dot_product_attention.dropout",
}  # fmt: skip


# Which of several equal elements is named is not said: values are compared, positions are not.
VALUES_ALONE = {"topk", "kthvalue", "mode", "median", "nanmedian"}
# Layouts that the device does not have.
SPARSE = {"to_sparse", "sparse.mm.reduce", "sparse.mm", "sparse.sampled_addmm"}
# Arguments that PyTorch wants on the CPU, whatever the device.
STAYS_ON_CPU = {"tensor_split"}


def cases(only):
    from torch.testing._internal.common_methods_invocations import op_db
    import torch

    found = []
    for number, op in enumerate(op_db):
        name = op.name + (f".{op.variant_test_name}" if op.variant_test_name else "")
        if only and only not in name:
            continue
        for dtype in (torch.float32, torch.int64):
            if dtype in op.supported_dtypes("cpu"):
                found.append((number, name, str(dtype).removeprefix("torch.")))
    return found


def moved(value, device, track):
    """A sample's argument on the device; floats want gradients where `track`."""
    import torch

    if isinstance(value, torch.Tensor):
        copy = value.detach().clone().to(device)
        return copy.requires_grad_() if track and value.requires_grad else copy
    if isinstance(value, (list, tuple)):
        return type(value)(moved(v, device, track) for v in value) if type(value) in (list, tuple) else value
    if isinstance(value, dict):
        return {k: moved(v, device, track) for k, v in value.items()}
    if isinstance(value, torch.device) or value == "cpu":
        return torch.device(device)
    return value


def leaves(value):
    import torch
    from torch.utils._pytree import tree_leaves

    return [v for v in tree_leaves(value) if isinstance(v, torch.Tensor)]


def run_sample(op, sample, device, track):
    """Results and gradients as tensors on the CPU."""
    import torch

    torch.manual_seed(0)
    rest_device = "cpu" if op.name in STAYS_ON_CPU else device
    args = (moved(sample.input, device, track), *moved(tuple(sample.args), rest_device, track))
    kwargs = moved(dict(sample.kwargs), device, track)
    if op.name in FACTORIES:
        kwargs["device"] = device
    result = op.op(*args, **kwargs)
    outputs = leaves(result)
    grads = []
    if track:
        wanted = [t for t in leaves((args, kwargs)) if t.requires_grad]
        floats = [o for o in outputs if o.requires_grad]
        if wanted and floats:
            seeds = [torch.linspace(0.5, 1.5, max(o.numel(), 1), dtype=torch.float64)[: o.numel()].reshape(o.shape).to(o.dtype).to(device) for o in floats]
            grads = torch.autograd.grad(floats, wanted, seeds, allow_unused=True)
    read = lambda t: None if t is None else t.detach().cpu()
    plain = [v for v in [result] if not leaves(result)]
    return [read(o) for o in outputs], [read(g) for g in grads], plain


FACTORIES = {
    "arange", "empty", "empty_permuted", "empty_strided", "eye", "full", "linspace", "logspace", "ones", "randint", "randn",
    "zeros", "rand", "scalar_tensor", "tril_indices", "triu_indices", "signal.windows",
}  # fmt: skip


def compare(expected, got, exact_sizes, name):
    import torch

    if len(expected) != len(got):
        return f"{len(got)} results instead of {len(expected)}"
    for i, (e, g) in enumerate(zip(expected, got)):
        if (e is None) != (g is None):
            return f"result {i} is {'missing' if g is None else 'there'}"
        if e is None:
            continue
        if e.dtype != g.dtype or e.shape != g.shape:
            return f"result {i} is {g.dtype}{list(g.shape)} instead of {e.dtype}{list(e.shape)}"
        if exact_sizes:
            continue
        try:
            torch.testing.assert_close(g, e, rtol=2e-3, atol=2e-4, equal_nan=True)
        except AssertionError as error:
            return f"result {i}: {str(error).splitlines()[0]} {' '.join(str(error).split()[-16:])}"
    return None


def run_case(number, name, dtype, most):
    """(outcome, detail)"""
    import torch
    import tenon.torch
    from torch.testing._internal.common_methods_invocations import op_db

    op = op_db[number]
    dtype = getattr(torch, dtype)
    track = dtype == torch.float32 and op.supports_autograd
    torch.manual_seed(1)
    samples = list(op.sample_inputs("cpu", dtype, requires_grad=track))
    if len(samples) > most:
        samples = [samples[i * len(samples) // most] for i in range(most)]
    tenon.torch.reset_report()
    compared = 0
    for i, sample in enumerate(samples):
        try:
            expected = run_sample(op, sample, "cpu", track)
        except Exception:
            continue  # the CPU refuses it, too
        try:
            got = run_sample(op, sample, "tenon", track)
        except Exception as error:
            if name in SPARSE and isinstance(error, (NotImplementedError, RuntimeError)):
                return "refused", "sparse layouts"
            return "crashed", f"sample {i}: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        sizes_alone = name in SIZES_ALONE or op.name in SIZES_ALONE or bool(sample.kwargs.get("dropout_p"))
        if op.name in VALUES_ALONE:
            expected, got = (expected[0][:1], *expected[1:]), (got[0][:1], *got[1:])
        wrong = compare(expected[0], got[0], sizes_alone, name) or compare(expected[1], got[1], sizes_alone, name)
        if not wrong and expected[2] != got[2] and not sizes_alone:
            wrong = f"{got[2]} instead of {expected[2]}"
        if wrong:
            return "wrong", f"sample {i}: {wrong}"
        compared += 1
    if compared == 0:
        return "untested", "no sample runs on the CPU"
    ran = tenon.torch.report().doors["device"].fallbacks
    if ran:
        return "fallback", ", ".join(sorted({operator for operator, _ in ran}))
    return "supported", ""


def worker(jobs, results, most):
    warnings.filterwarnings("ignore")
    sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    import torch

    torch.set_num_threads(1)
    while True:
        job = jobs.get()
        if job is None:
            return
        results.put(("begin", os.getpid(), job, None))
        try:
            outcome = run_case(*job, most)
        except Exception as error:
            outcome = ("crashed", f"{type(error).__name__}: {str(error)[:200]}")
        results.put(("end", os.getpid(), job, outcome))


def run_all(jobs_list, most):
    context = multiprocessing.get_context("spawn")
    jobs, results = context.Queue(), context.Queue()
    for job in jobs_list:
        jobs.put(job)
    processes, current, outcomes = {}, {}, {}

    def start():
        process = context.Process(target=worker, args=(jobs, results, most), daemon=True)
        process.start()
        processes[process.pid] = process

    for _ in range(WORKERS):
        start()
    while len(outcomes) < len(jobs_list):
        try:
            kind, pid, job, outcome = results.get(timeout=1)
            if kind == "begin":
                current[pid] = (job, time.time())
            else:
                current.pop(pid, None)
                outcomes[job] = outcome
                if sys.stderr.isatty():
                    print(f"\r{len(outcomes)}/{len(jobs_list)} {job[1]:<50}", end="", file=sys.stderr)
        except Exception:
            pass
        for pid, process in list(processes.items()):
            stuck = pid in current and time.time() - current[pid][1] > SECONDS_PER_CASE
            if not process.is_alive() or stuck:
                process.kill()
                del processes[pid]
                if pid in current:
                    job, _ = current.pop(pid)
                    outcomes[job] = ("crashed", "took too long" if stuck else "the process died")
                start()
    for process in processes.values():
        process.kill()
    return outcomes


def page(outcomes, counts):
    lines = [
        "# Operators of PyTorch on the device `tenon`",
        "",
        "Made by `./dev torch-conformance --write docs/torch_operators.md` from PyTorch's own samples (op_db), f32 and i64,",
        "forward and, where an operator has one, backward, against the CPU.",
        "",
        "| supported | fallback | wrong | crashed | refused | untested |",
        "|---|---|---|---|---|---|",
        "| " + " | ".join(str(counts[k]) for k in ("supported", "fallback", "wrong", "crashed", "refused", "untested")) + " |",
        "",
    ]
    by = collections.defaultdict(list)
    for (_, name, dtype), (outcome, detail) in sorted(outcomes.items(), key=lambda item: item[0][1:]):
        by[outcome].append((name, dtype, detail))
    for outcome in ("wrong", "crashed", "refused", "fallback"):
        if by[outcome]:
            lines += [f"## {outcome.capitalize()}", "", "| operator | dtype | what |", "|---|---|---|"]
            lines += [f"| {n} | {d} | {w.replace('|', '/')} |" for n, d, w in by[outcome]] + [""]
    names = sorted({n for n, _, _ in by["supported"]})
    lines += ["## Supported", "", ", ".join(f"`{n}`" for n in names), ""]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="one object instead of text")
    parser.add_argument("--list", action="store_true", help="each case that is not supported, with its reason")
    parser.add_argument("--only", default="", help="operators whose name contains this")
    parser.add_argument("--samples", type=int, default=6, help="samples of each operator, spread over all")
    parser.add_argument("--write", help="write the page of the documentation")
    options = parser.parse_args()
    jobs = cases(options.only)
    if not jobs:
        sys.exit(f"no operator's name contains '{options.only}'")
    outcomes = run_all(jobs, options.samples)
    counts = collections.Counter(outcome for outcome, _ in outcomes.values())
    best = collections.defaultdict(set)
    for (_, name, _), (outcome, _) in outcomes.items():
        best[name].add(outcome)
    whole = sum(1 for kinds in best.values() if kinds <= {"supported", "untested"})
    summary = {**{k: counts[k] for k in ("supported", "fallback", "wrong", "crashed", "refused", "untested")},
               "cases": len(outcomes), "operators": len(best), "operators_without_fallback": whole}
    if options.list:
        for (_, name, dtype), (outcome, detail) in sorted(outcomes.items(), key=lambda item: item[0][1:]):
            if outcome not in ("supported", "untested"):
                print(f"{outcome:<9} {name} {dtype}: {detail}")
    if options.write:
        with open(options.write, "w") as file:
            file.write(page(outcomes, counts))
    print(json.dumps(summary) if options.json else "\n".join(f"{v:>6} {k}" for k, v in summary.items()))
    return 1 if counts["wrong"] or counts["crashed"] else 0


if __name__ == "__main__":
    sys.exit(main())
